import {
  type AllWebhook,
  deletePlatformWebhook,
  disablePlatformWebhook,
  enablePlatformWebhook,
  replayPlatformEvents,
  rotatePlatformSecret,
  testPlatformWebhook,
  updatePlatformWebhook,
} from 'portal-client'
import { useLocation } from 'wouter'
import { client } from '../../kit/client.ts'
import { TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Command, CommandRow, useMissing } from '../records/command.tsx'
import { SecretCommand } from '../records/secret-command.tsx'
import { bodyOf, WebhookFields } from './fields.tsx'

/** The commands on a webhook of the deployment. */
export function PlatformCommands({ webhook }: { webhook: AllWebhook }) {
  const blocked = useMissing('webhook:manage')
  const [, navigate] = useLocation()
  const { bizId: webhookBizId, url, webhookStatus } = webhook
  const { code } = webhookStatus
  const body = { webhookBizId }
  const values = { url }
  if (code === 'DELETED') return <p>{t('webhooks.final')}</p>
  return (
    <div className="records-rows">
      <CommandRow about={t('webhooks.editAbout')}>
        <Command
          label={t('webhooks.edit')}
          question={t('webhooks.editQuestion')}
          run={(form) => client.call(updatePlatformWebhook, { body: { webhookBizId, ...bodyOf(form) } })}
          done={t('webhooks.edited')}
          blocked={blocked}
        >
          <WebhookFields webhook={webhook} />
        </Command>
      </CommandRow>
      <CommandRow about={t('webhooks.testAbout')}>
        <Command
          label={t('webhooks.test')}
          question={t('webhooks.testQuestion', values)}
          run={() => client.call(testPlatformWebhook, { body })}
          done={({ deliveryStatus }) => t('webhooks.tested', { status: deliveryStatus.label })}
          blocked={blocked ?? (code === 'ACTIVE' ? null : t('webhooks.notActive'))}
        />
      </CommandRow>
      <CommandRow about={t('webhooks.replayAbout')}>
        <Command
          label={t('webhooks.replay')}
          question={t('webhooks.replayQuestion', values)}
          run={(form) =>
            client.call(replayPlatformEvents, { body: { webhookBizId, since: new Date(form('since')).toISOString() } })
          }
          done={({ scheduled }) => t('webhooks.replayed', { events: scheduled })}
          blocked={blocked ?? (code === 'ACTIVE' ? null : t('webhooks.notActive'))}
        >
          <TextField label={t('webhooks.since')} name="since" type="datetime-local" required />
        </Command>
      </CommandRow>
      <CommandRow about={t('webhooks.rotateAbout')}>
        <SecretCommand
          label={t('webhooks.rotate')}
          question={t('webhooks.rotateQuestion', values)}
          permission="webhook:manage"
          run={async () => (await client.call(rotatePlatformSecret, { body })).secret}
        />
      </CommandRow>
      <CommandRow about={t('webhooks.statusAbout')}>
        {code === 'ACTIVE' || code === 'FAILED' ? (
          <Command
            label={t('webhooks.disable')}
            question={t('webhooks.disableQuestion', values)}
            run={() => client.call(disablePlatformWebhook, { body })}
            done={t('webhooks.disabled')}
            blocked={blocked}
            tone="danger"
          />
        ) : (
          <Command
            label={t('webhooks.enable')}
            question={t('webhooks.enableQuestion', values)}
            run={() => client.call(enablePlatformWebhook, { body })}
            done={t('webhooks.enabled')}
            blocked={blocked}
          />
        )}
      </CommandRow>
      <CommandRow about={t('webhooks.deleteAbout')}>
        <Command
          label={t('webhooks.delete')}
          question={t('webhooks.deleteQuestion', values)}
          run={async () => {
            await client.call(deletePlatformWebhook, { body })
            navigate('/webhooks')
          }}
          done={t('webhooks.deleted')}
          blocked={blocked}
          tone="danger"
        />
      </CommandRow>
    </div>
  )
}
