import { createInvitation } from 'portal-client'
import { Link, useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, SelectField, TextAreaField, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { notify } from '../../kit/toasts.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { useGrantableRoles } from './roles.ts'

/** Invites a person with a role. */
export default function NewInvitation() {
  const { workspaceBizId: workspaceId, workspaceName } = useWorkspace().workspace
  const roles = useGrantableRoles()
  const [, navigate] = useLocation()
  const invite = async (values: Values): Promise<void> => {
    const email = values('email')
    const body = { email, roleBizId: values('roleBizId'), message: values('message') || null }
    await client.call(createInvitation, { workspaceId, body })
    notify(t('members.invitationSent', { email }))
    await refreshData()
    navigate('/invitations')
  }
  return (
    <Page title={t('members.invite')} actions={<Link href="/invitations">{t('members.invitations')}</Link>}>
      <Lacking permission="role:read" />
      <Form submit={t('members.send')} onSubmit={invite}>
        <p className="hint">{t('members.inviteHint', { workspace: workspaceName })}</p>
        <TextField label={t('members.email')} name="email" type="email" autoComplete="off" required />
        <SelectField
          label={t('members.role')}
          name="roleBizId"
          hint={t('members.grantableHint')}
          options={[
            { value: '', label: t('members.chooseRole') },
            ...roles.map(({ bizId, roleName }) => ({ value: bizId, label: roleName })),
          ]}
          required
        />
        <TextAreaField label={t('members.message')} name="message" hint={t('members.messageHint')} />
      </Form>
    </Page>
  )
}
