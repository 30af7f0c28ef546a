import { createRole } from 'portal-client'
import { Link, useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useAllPermissions } from '../permissions/permissions.tsx'
import { chosenPermissions, PermissionFields } from '../permissions/tree.tsx'
import { useWorkspace } from '../workspace.tsx'

/** Creates a role with the chosen permissions. */
export default function NewRole() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const codes = useAllPermissions()
  const [, navigate] = useLocation()
  const create = async (values: Values, form: HTMLFormElement): Promise<void> => {
    const roleName = values('roleName')
    const body = { roleName, description: values('description'), permissionCodes: chosenPermissions(form) }
    const { bizId } = await client.call(createRole, { workspaceId, body })
    notify(t('roles.created', { name: roleName }))
    await refreshData()
    navigate(`/roles/${bizId}`)
  }
  return (
    <Page title={t('roles.create')} actions={<Link href="/roles">{t('roles.all')}</Link>}>
      <div className="permissions-form">
        <Form submit={t('roles.create')} onSubmit={create}>
          <TextField label={t('roles.name')} name="roleName" maxLength={64} required />
          <TextField label={t('roles.description')} name="description" maxLength={256} />
          <PermissionFields codes={codes} />
        </Form>
      </div>
    </Page>
  )
}
