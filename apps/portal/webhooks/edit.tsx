import { type AllWebhook, updateWebhook } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { useWorkspace } from '../workspace.tsx'
import { chosenTypes, EventTypeFields } from './parts.tsx'

/** Changes a webhook. Sends only changed fields: a new URL or type needs a step-up, and the webhook then acts for the user. */
export function Edit({ webhook }: { webhook: AllWebhook }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { bizId: webhookBizId, url, description, eventTypes } = webhook
  const save = (values: Values, form: HTMLFormElement) => {
    const types = chosenTypes(form)
    const isSame = types.toSorted().join() === eventTypes.toSorted().join()
    return client.call(updateWebhook, {
      workspaceId,
      body: {
        webhookBizId,
        ...(values('url') !== url && { url: values('url') }),
        ...(values('description') !== description && { description: values('description') }),
        ...(!isSame && { eventTypes: types }),
      },
    })
  }
  return (
    <Command label={t('webhooks.edit')} title={t('webhooks.editTitle')} done={t('webhooks.edited')} run={save}>
      <TextField label={t('webhooks.url')} name="url" type="url" defaultValue={url} required />
      <TextField label={t('webhooks.description')} name="description" defaultValue={description} maxLength={128} />
      <EventTypeFields chosen={eventTypes} />
    </Command>
  )
}
