import { changeMemberRole, type Member, removeMember, restoreMember } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { SelectField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { useSession } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'
import { useGrantableRoles } from './roles.ts'

/** The commands for a member, or why there are none. */
export function MemberCommands({ member }: { member: Member }) {
  const { isOwner } = useWorkspace().workspace
  const { accountId } = useSession()
  const isSelf = member.userBizId === accountId
  if (member.isOwner && !isOwner) return <p className="hint">{t('members.ownersOnly')}</p>
  return (
    <div className="form-actions">
      {member.suspendedAt !== null && <Restore member={member} />}
      <ChangeRole member={member} />
      {isSelf ? (
        <Link href="/workspace" className="button">
          {t('members.leave')}
        </Link>
      ) : (
        <Remove member={member} />
      )}
    </div>
  )
}

function ChangeRole({ member }: { member: Member }) {
  const { userBizId, workspaceBizId: workspaceId, workspaceRoleBizId, accountName } = member
  const roles = useGrantableRoles()
  const { refresh } = useSession()
  const others = roles.filter(({ bizId }) => bizId !== workspaceRoleBizId)
  if (others.length === 0) return <p className="hint">{t('members.noOtherRole')}</p>
  return (
    <Command
      label={t('members.changeRole')}
      subject={accountName}
      title={t('members.changeRoleTitle', { name: accountName })}
      done={t('members.roleChanged', { name: accountName })}
      run={async (values) => {
        await client.call(changeMemberRole, { workspaceId, body: { userBizId, roleBizId: values('roleBizId') } })
        // It can be the role of the user.
        await refresh()
      }}
    >
      <SelectField
        label={t('members.newRole')}
        name="roleBizId"
        hint={t('members.grantableHint')}
        options={others.map(({ bizId, roleName }) => ({ value: bizId, label: roleName }))}
        required
      />
    </Command>
  )
}

function Remove({ member: { userBizId, workspaceBizId: workspaceId, accountName } }: { member: Member }) {
  return (
    <Command
      label={t('members.remove')}
      subject={accountName}
      title={t('members.removeTitle', { name: accountName })}
      done={t('members.removed', { name: accountName })}
      tone="danger"
      run={() => client.call(removeMember, { workspaceId, body: { userBizId } })}
    >
      <p>{t('members.removeEffect')}</p>
    </Command>
  )
}

function Restore({ member: { userBizId, workspaceBizId: workspaceId, accountName } }: { member: Member }) {
  return (
    <Command
      label={t('members.restore')}
      subject={accountName}
      title={t('members.restoreTitle', { name: accountName })}
      done={t('members.restored', { name: accountName })}
      tone="primary"
      run={() => client.call(restoreMember, { workspaceId, body: { userBizId } })}
    >
      <p>{t('members.restoreEffect')}</p>
    </Command>
  )
}
