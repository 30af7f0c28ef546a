import { limitMember, listMembersOf, type Member } from 'portal-client'
import { client } from '../../kit/client.ts'
import { CheckField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Badge } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Command, useMissing } from '../records/command.tsx'
import { AccountLink } from '../records/links.tsx'

/** The members of a workspace with their limits. */
export function Members({ workspaceId }: { workspaceId: string }) {
  return (
    <ListQuery
      queryKey={['members', workspaceId]}
      read={(before) => client.call(listMembersOf, { params: { workspace_id: workspaceId }, query: { before } })}
      empty={t('workspaces.noMembers')}
    >
      {(members) => (
        <Table
          label={t('workspaces.members')}
          items={members}
          keyOf={({ userBizId }) => userBizId}
          columns={[
            { title: t('workspaces.account'), cell: ({ userBizId }) => <AccountLink id={userBizId} /> },
            { title: t('workspaces.role'), cell: ({ workspaceRoleName }) => workspaceRoleName },
            { title: t('workspaces.joined'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { title: t('workspaces.limits'), cell: (member) => <Limits member={member} /> },
            {
              title: t('records.actions'),
              align: 'end',
              cell: (member) => <LimitCommand workspaceId={workspaceId} member={member} />,
            },
          ]}
        />
      )}
    </ListQuery>
  )
}

function Limits({ member }: { member: Member }) {
  const limits = limitNames.filter(({ isSet }) => isSet(member))
  if (member.suspendedAt !== null) return <Badge tone="bad">{t('workspaces.suspended')}</Badge>
  if (limits.length === 0) return t('workspaces.noLimits')
  return (
    <span className="records-commands">
      {limits.map(({ name, label }) => (
        <Badge key={name} tone="waiting">
          {label}
        </Badge>
      ))}
    </span>
  )
}

function LimitCommand({ workspaceId, member }: { workspaceId: string; member: Member }) {
  const blocked = useMissing('member:limit')
  const { userBizId, accountEmail } = member
  return (
    <Command
      label={t('workspaces.limit')}
      question={t('workspaces.limitQuestion', { email: accountEmail })}
      run={(form) => {
        const isSet = (name: string) => form(name) === 'on'
        const policyConfig = {
          ...(isSet('excluded') && { enterable: false }),
          ...(isSet('notDefault') && { defaultEligible: false }),
          ...(isSet('readOnly') && { readOnly: true }),
        }
        const body = {
          userBizId,
          policyConfig: Object.keys(policyConfig).length > 0 ? policyConfig : null,
          reason: form('reason'),
        }
        return client.call(limitMember, { params: { workspace_id: workspaceId }, body })
      }}
      done={t('workspaces.limited')}
      blocked={blocked}
      asksReason
    >
      {limitNames.map(({ name, label, isSet }) => (
        <CheckField key={name} name={name} label={label} defaultChecked={isSet(member)} />
      ))}
    </Command>
  )
}

const limitNames = [
  {
    name: 'excluded',
    label: t('workspaces.limit_excluded'),
    isSet: (member: Member) => limitOf(member, 'enterable') === false,
  },
  {
    name: 'readOnly',
    label: t('workspaces.limit_readOnly'),
    isSet: (member: Member) => limitOf(member, 'readOnly') === true,
  },
  {
    name: 'notDefault',
    label: t('workspaces.limit_notDefault'),
    isSet: (member: Member) => limitOf(member, 'defaultEligible') === false,
  },
]

function limitOf({ policyConfig }: Member, name: string): unknown {
  return policyConfig?.[name]
}
