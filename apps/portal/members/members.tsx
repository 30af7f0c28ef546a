import { listMembers, type Member } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission, useSession } from '../../kit/session.tsx'
import { Badge } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { MemberCommands } from './commands.tsx'
import { Invite } from './invite.tsx'
import { useRoles } from './roles.ts'

/** The members of the workspace. `role` and `name` in the address filter them. */
export default function Members() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [search] = useSearchParams()
  const mayManage = usePermission('member:manage')
  const roleBizId = search.get('role') ?? undefined
  const accountName = search.get('name') ?? undefined
  return (
    <Page title={t('members.title')} actions={<Invite />}>
      <Lacking permission="member:manage" />
      <MemberFilters />
      <ListQuery
        queryKey={['members', workspaceId, roleBizId, accountName]}
        read={(before) => client.call(listMembers, { workspaceId, query: { before, roleBizId, accountName } })}
        empty={t('members.empty')}
      >
        {(members) => (
          <Table
            label={t('members.title')}
            items={members}
            keyOf={({ userBizId }) => userBizId}
            columns={[
              { title: t('members.name'), cell: (member) => <Name member={member} /> },
              {
                title: t('members.role'),
                cell: ({ workspaceRoleName, isOwner }) => (
                  <Badge tone={isOwner ? 'good' : 'neutral'}>{workspaceRoleName}</Badge>
                ),
              },
              {
                title: t('members.joined'),
                cell: ({ createdAt, joinSource }) => (
                  <div className="members-name">
                    <Time at={createdAt} />
                    <span className="hint">{joinSource.label}</span>
                  </div>
                ),
              },
              ...(mayManage
                ? [{ title: t('members.actions'), cell: (member: Member) => <MemberCommands member={member} /> }]
                : []),
            ]}
          />
        )}
      </ListQuery>
    </Page>
  )
}

function MemberFilters() {
  const [search, setSearch] = useSearchParams()
  const roles = useRoles()
  const filter = (name: string, value: string): void =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      if (value === '') next.delete(name)
      else next.set(name, value)
      return next
    })
  return (
    <div className="filters">
      <label>
        <span>{t('members.name')}</span>
        <input
          type="search"
          defaultValue={search.get('name') ?? ''}
          onChange={({ currentTarget: { value } }) => filter('name', value.trim())}
        />
      </label>
      {roles.length > 0 && (
        <label>
          <span>{t('members.role')}</span>
          <select value={search.get('role') ?? ''} onChange={({ currentTarget: { value } }) => filter('role', value)}>
            <option value="">{t('members.allRoles')}</option>
            {roles.map(({ bizId, roleName }) => (
              <option key={bizId} value={bizId}>
                {roleName}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  )
}

function Name({ member: { userBizId, accountName, accountEmail, suspendedAt, enterable } }: { member: Member }) {
  const { accountId } = useSession()
  return (
    <div className="members-name">
      <span>
        {accountName} {userBizId === accountId && <Badge>{t('members.you')}</Badge>}{' '}
        {suspendedAt !== null && <Badge tone="bad">{t('members.suspended')}</Badge>}{' '}
        {suspendedAt === null && !enterable && <Badge tone="waiting">{t('members.barred')}</Badge>}
      </span>
      <span className="hint">{accountEmail}</span>
    </div>
  )
}
