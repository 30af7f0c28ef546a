import { useQuery } from '@tanstack/react-query'
import { deleteRole, listMembers, type Role, readRole, setRolePermissions, updateRole } from 'portal-client'
import { Link, useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { usePermission, useSession } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { notify } from '../../kit/toasts.tsx'
import { Lacking, useAllPermissions } from '../permissions/permissions.tsx'
import { chosenPermissions, PermissionFields, PermissionList } from '../permissions/tree.tsx'
import { useWorkspace } from '../workspace.tsx'

/** A role with its permissions. */
export default function RolePage() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const id = useParameter('role')
  const query = useQuery({
    queryKey: ['role', workspaceId, id],
    queryFn: () => client.call(readRole, { workspaceId, params: { role_id: id } }),
  })
  return (
    <Page
      title={query.data?.roleName ?? t('roles.role')}
      actions={
        <>
          <Link href="/roles">{t('roles.all')}</Link>
          {usePermission('member:read') && <Link href={`/members?role=${id}`}>{t('roles.members')}</Link>}
        </>
      }
    >
      <QueryView query={query}>{(role) => <Details role={role} />}</QueryView>
    </Page>
  )
}

function Details({ role }: { role: Role }) {
  const mayManage = usePermission('role:manage')
  const isOwner = role.roleType.code === 'OWNER'
  if (isOwner || !mayManage)
    return (
      <>
        {isOwner ? <p className="hint">{t('roles.ownerHint')}</p> : <Lacking permission="role:manage" />}
        {role.description !== '' && <p>{role.description}</p>}
        <PermissionList codes={role.permissionCodes} />
      </>
    )
  return (
    <>
      <Rename role={role} />
      <Permissions role={role} />
      <Deletion role={role} />
    </>
  )
}

function Rename({ role: { bizId: roleBizId, workspaceBizId: workspaceId, roleName, description } }: { role: Role }) {
  const rename = async (values: Values): Promise<void> => {
    const body = { roleBizId, roleName: values('roleName'), description: values('description') }
    await client.call(updateRole, { workspaceId, body })
    notify(t('roles.saved'))
    await refreshData()
  }
  return (
    <Section title={t('roles.nameAndDescription')}>
      <Form submit={t('roles.save')} onSubmit={rename}>
        <TextField label={t('roles.name')} name="roleName" defaultValue={roleName} maxLength={64} required />
        <TextField label={t('roles.description')} name="description" defaultValue={description} maxLength={256} />
      </Form>
    </Section>
  )
}

function Permissions({ role: { bizId: roleBizId, workspaceBizId: workspaceId, permissionCodes } }: { role: Role }) {
  const codes = useAllPermissions()
  const { refresh } = useSession()
  const save = async (_: Values, form: HTMLFormElement): Promise<void> => {
    const body = { roleBizId, permissionCodes: chosenPermissions(form) }
    await client.call(setRolePermissions, { workspaceId, body })
    notify(t('roles.permissionsSaved'))
    await refreshData()
    // It can be the role of the user.
    await refresh()
  }
  return (
    <Section title={t('permissions.title')}>
      <p className="hint">{t('roles.permissionsHint')}</p>
      <div className="permissions-form">
        <Form submit={t('roles.savePermissions')} onSubmit={save}>
          <PermissionFields key={permissionCodes.join()} codes={codes} granted={permissionCodes} />
        </Form>
      </div>
    </Section>
  )
}

function Deletion({ role: { bizId: roleBizId, workspaceBizId: workspaceId, roleName } }: { role: Role }) {
  const [, navigate] = useLocation()
  const mayReadMembers = usePermission('member:read')
  const { data } = useQuery({
    queryKey: ['members', workspaceId, roleBizId],
    queryFn: () => client.call(listMembers, { workspaceId, query: { before: 'start', pageSize: 1, roleBizId } }),
    enabled: mayReadMembers,
  })
  const isUsed = data !== undefined && data.items.length > 0
  return (
    <Section title={t('roles.delete')}>
      {isUsed ? (
        <p className="hint">{t('roles.inUse')}</p>
      ) : (
        <div>
          <Command
            label={t('roles.delete')}
            title={t('roles.deleteTitle', { name: roleName })}
            done={t('roles.deleted', { name: roleName })}
            tone="danger"
            run={async () => {
              await client.call(deleteRole, { workspaceId, body: { roleBizId } })
              navigate('/roles')
            }}
          >
            <p>{t('roles.deleteEffect')}</p>
          </Command>
        </div>
      )}
    </Section>
  )
}
