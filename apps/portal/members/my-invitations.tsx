import { useQuery } from '@tanstack/react-query'
import { acceptInvitation, declineInvitation, type Invitation, listMyInvitations } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { Facts } from '../../kit/facts.tsx'
import { TextAreaField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { InvitationStatus } from './status.tsx'

/** Open invitations to the user, who can be in no workspace yet. */
export function MyInvitations() {
  const query = useQuery({ queryKey: ['my-invitations'], queryFn: () => client.call(listMyInvitations) })
  return (
    <QueryView query={query}>
      {(invitations) => {
        const open = invitations.filter(({ invitationStatus: { code } }) => code === 'PENDING' || code === 'SUSPENDED')
        if (open.length === 0)
          return (
            <Empty title={t('members.noOwnInvitations')}>
              <p>{t('members.noOwnInvitationsHint')}</p>
            </Empty>
          )
        return (
          <div className="cards">
            {open.map((invitation) => (
              <Offer key={invitation.bizId} invitation={invitation} />
            ))}
          </div>
        )
      }}
    </QueryView>
  )
}

function Offer({ invitation }: { invitation: Invitation }) {
  const { workspaceName, roleName, message, expiresAt, invitationStatus } = invitation
  return (
    <article className="card">
      <h2>{workspaceName}</h2>
      <p>
        <InvitationStatus invitation={invitation} />
      </p>
      {message !== null && <p className="members-message">{message}</p>}
      <Facts
        facts={[
          [t('members.role'), roleName],
          [t('members.expires'), <Time key="expires" at={expiresAt} />],
        ]}
      />
      {invitationStatus.code === 'SUSPENDED' ? (
        <p className="hint">{t('members.suspendedHint')}</p>
      ) : (
        <Answers invitation={invitation} />
      )}
    </article>
  )
}

function Answers({ invitation: { bizId: invitationBizId, workspaceName, roleName } }: { invitation: Invitation }) {
  return (
    <div className="form-actions">
      <Command
        label={t('members.accept')}
        subject={workspaceName}
        title={t('members.acceptTitle', { workspace: workspaceName })}
        done={t('members.accepted', { workspace: workspaceName })}
        tone="primary"
        run={() => client.call(acceptInvitation, { body: { invitationBizId } })}
      >
        <p>{t('members.acceptEffect', { role: roleName })}</p>
      </Command>
      <Command
        label={t('members.decline')}
        subject={workspaceName}
        title={t('members.declineTitle', { workspace: workspaceName })}
        done={t('members.declined')}
        tone="danger"
        run={(values) => client.call(declineInvitation, { body: { invitationBizId, reason: values('reason') } })}
      >
        <TextAreaField label={t('members.reason')} name="reason" hint={t('members.reasonHint')} required />
      </Command>
    </div>
  )
}
