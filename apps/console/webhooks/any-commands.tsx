import { type AllWebhook, disableAnyWebhook, enableAnyWebhook } from 'portal-client'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { Command, CommandRow, useMissing } from '../records/command.tsx'

/** The commands of operators on a webhook of a workspace, whose members manage it. */
export function AnyCommands({ webhook: { bizId, webhookStatus, url } }: { webhook: AllWebhook }) {
  const blocked = useMissing('webhook:end')
  const params = { webhook_id: bizId }
  const { code } = webhookStatus
  if (code === 'DELETED') return <p>{t('webhooks.final')}</p>
  return (
    <CommandRow about={t('webhooks.anyAbout')}>
      {code === 'ACTIVE' || code === 'FAILED' ? (
        <Command
          label={t('webhooks.disable')}
          question={t('webhooks.disableQuestion', { url })}
          run={(form) => client.call(disableAnyWebhook, { params, body: { reason: form('reason') } })}
          done={t('webhooks.disabled')}
          blocked={blocked}
          tone="danger"
          asksReason
        />
      ) : (
        <Command
          label={t('webhooks.allow')}
          question={t('webhooks.allowQuestion', { url })}
          run={(form) => client.call(enableAnyWebhook, { params, body: { reason: form('reason') } })}
          done={t('webhooks.allowed')}
          blocked={blocked}
          asksReason
        />
      )}
    </CommandRow>
  )
}
