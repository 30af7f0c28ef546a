import { useQuery } from '@tanstack/react-query'
import { cancelInvitation, confirmInvitation, type Invitation, listInvitations } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { Invite } from './invite.tsx'
import { InvitationStatus } from './status.tsx'

/** The invitations to the workspace. `all` in the address includes the past ones. */
export default function Invitations() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [search, setSearch] = useSearchParams()
  const showsAll = search.has('all')
  const query = useQuery({
    queryKey: ['invitations', workspaceId],
    queryFn: () => client.call(listInvitations, { workspaceId }),
  })
  return (
    <Page title={t('members.invitations')} actions={<Invite />}>
      <Lacking permission="invitation:manage" />
      <label className="check">
        <input type="checkbox" checked={showsAll} onChange={() => setSearch(showsAll ? {} : { all: '' })} />
        <span>{t('members.showPast')}</span>
      </label>
      <QueryView query={query}>
        {(invitations) => <List invitations={showsAll ? invitations : invitations.filter(isOpen)} />}
      </QueryView>
    </Page>
  )
}

function List({ invitations }: { invitations: readonly Invitation[] }) {
  const mayManage = usePermission('invitation:manage')
  if (invitations.length === 0) return <Empty title={t('members.noInvitations')} />
  return (
    <Table
      label={t('members.invitations')}
      items={invitations}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('members.email'),
          cell: ({ inviteeEmail, roleName }) => (
            <div className="members-name">
              {inviteeEmail}
              <span className="hint">{roleName}</span>
            </div>
          ),
        },
        {
          title: t('members.status'),
          cell: (invitation) => (
            <>
              <InvitationStatus invitation={invitation} />
              {invitation.declineReason !== null && <p className="hint">{invitation.declineReason}</p>}
            </>
          ),
        },
        {
          title: t('members.invited'),
          cell: ({ createdAt, expiresAt }) => (
            <div className="members-name">
              <Time at={createdAt} />
              <span className="hint">
                {t('members.expires')}: <Time at={expiresAt} />
              </span>
            </div>
          ),
        },
        ...(mayManage
          ? [
              {
                title: t('members.actions'),
                cell: (invitation: Invitation) => <Commands invitation={invitation} />,
              },
            ]
          : []),
      ]}
    />
  )
}

function Commands({ invitation }: { invitation: Invitation }) {
  if (!isOpen(invitation)) return '–'
  const { bizId: invitationBizId, workspaceBizId: workspaceId, inviteeEmail, roleName, invitationStatus } = invitation
  return (
    <div className="form-actions">
      {invitationStatus.code === 'SUSPENDED' && (
        <Command
          label={t('members.confirm')}
          subject={inviteeEmail}
          title={t('members.confirmTitle', { email: inviteeEmail })}
          done={t('members.confirmed', { email: inviteeEmail })}
          tone="primary"
          run={() => client.call(confirmInvitation, { workspaceId, body: { invitationBizId } })}
        >
          <p>{t('members.confirmEffect', { role: roleName })}</p>
        </Command>
      )}
      <Command
        label={t('members.cancelInvitation')}
        subject={inviteeEmail}
        title={t('members.cancelTitle', { email: inviteeEmail })}
        done={t('members.cancelled', { email: inviteeEmail })}
        tone="danger"
        run={() => client.call(cancelInvitation, { workspaceId, body: { invitationBizId } })}
      >
        <p>{t('members.cancelEffect')}</p>
      </Command>
    </div>
  )
}

function isOpen({ invitationStatus: { code } }: Invitation): boolean {
  return code === 'PENDING' || code === 'SUSPENDED'
}
