import { listMembers, type Member } from 'portal-client'
import { useId } from 'react'
import { client } from '../../kit/client.ts'
import { ChoiceFilter, Filters, useFilter } from '../../kit/filters.tsx'
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
  const mayManage = usePermission('member:manage')
  const [roleBizId] = useFilter('role')
  const [accountName] = useFilter('name')
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
  const [name = '', setName] = useFilter('name')
  const options = useRoles().map(({ bizId, roleName }) => ({ value: bizId, label: roleName }))
  const id = useId()
  return (
    <Filters>
      <div className="field">
        <label htmlFor={id}>{t('members.name')}</label>
        <input
          id={id}
          type="search"
          defaultValue={name}
          onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
        />
      </div>
      {options.length > 0 && (
        <ChoiceFilter
          name="role"
          label={t('members.role')}
          options={[{ value: '', label: t('members.allRoles') }, ...options]}
        />
      )}
    </Filters>
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
