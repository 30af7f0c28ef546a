import { createWorkspace } from 'portal-client'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, SelectField, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'
import { TimeZoneField } from './time-zone-field.tsx'

/** The form for a new workspace, whose owner the user becomes. */
export function CreateWorkspace({ onCreated }: { onCreated?: (workspaceId: string) => void }) {
  const create = async (values: Values): Promise<void> => {
    const workspaceName = values('workspaceName')
    const { bizId } = await client.call(createWorkspace, {
      body: {
        workspaceName,
        workspaceTimezone: values('workspaceTimezone'),
        workspaceKind: values('workspaceKind') === 'SANDBOX' ? 'SANDBOX' : 'LIVE',
      },
    })
    notify(t('workspaces.created', { name: workspaceName }))
    await refreshData()
    onCreated?.(bizId)
  }
  return (
    <Form submit={t('workspaces.create')} onSubmit={create}>
      <TextField label={t('workspaces.name')} name="workspaceName" maxLength={128} required />
      <TimeZoneField current={Intl.DateTimeFormat().resolvedOptions().timeZone} />
      <SelectField
        label={t('workspaces.kind')}
        name="workspaceKind"
        hint={t('workspaces.kindHint')}
        options={[
          { value: 'LIVE', label: t('workspaces.live') },
          { value: 'SANDBOX', label: t('workspaces.sandbox') },
        ]}
      />
    </Form>
  )
}
