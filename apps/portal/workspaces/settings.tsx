import { updateCurrentWorkspace, type Workspace } from 'portal-client'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'
import { TimeZoneField } from './time-zone-field.tsx'

/** Changes the name and the time zone. */
export function Settings({
  workspace: { bizId: workspaceId, workspaceName, workspaceTimezone },
}: {
  workspace: Workspace
}) {
  const save = async (values: Values): Promise<void> => {
    const body = { workspaceName: values('workspaceName'), workspaceTimezone: values('workspaceTimezone') }
    await client.call(updateCurrentWorkspace, { workspaceId, body })
    notify(t('workspaces.saved'))
    await refreshData()
  }
  return (
    <Form submit={t('workspaces.save')} onSubmit={save}>
      <TextField
        label={t('workspaces.name')}
        name="workspaceName"
        defaultValue={workspaceName}
        maxLength={128}
        required
      />
      <TimeZoneField current={workspaceTimezone} />
    </Form>
  )
}
