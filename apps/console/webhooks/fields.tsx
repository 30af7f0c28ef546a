import type { AllWebhook } from 'portal-client'
import { TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'

/** The fields of a webhook of the deployment. */
export function WebhookFields({ webhook }: { webhook?: AllWebhook }) {
  return (
    <>
      <TextField label={t('webhooks.url')} name="url" type="url" required defaultValue={webhook?.url} />
      <TextField
        label={t('webhooks.eventTypes')}
        name="eventTypes"
        required
        spellCheck={false}
        autoComplete="off"
        defaultValue={webhook?.eventTypes.join(' ') ?? '*'}
        hint={t('webhooks.eventTypesHint')}
      />
      <TextField label={t('webhooks.description')} name="description" defaultValue={webhook?.description} />
    </>
  )
}

export function bodyOf(form: Values) {
  const eventTypes = form('eventTypes')
    .split(/[\s,]+/)
    .filter(Boolean)
  return { url: form('url'), eventTypes, description: form('description') }
}
