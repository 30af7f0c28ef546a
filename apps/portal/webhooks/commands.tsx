import {
  type AllWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  rotateWebhookSecret,
  testWebhook,
} from 'portal-client'
import { useLocation } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { t } from '../../kit/i18n.ts'
import { useWorkspace } from '../workspace.tsx'
import { Edit } from './edit.tsx'
import { Replay } from './replay.tsx'

interface Props {
  webhook: AllWebhook
  /** Shows the secret of a rotation. */
  onSecret(secret: string): void
}

/** The commands that the status allows. */
export function WebhookCommands({ webhook, onSecret }: Props) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [, navigate] = useLocation()
  const call = { workspaceId, body: { webhookBizId: webhook.bizId } }
  const { code } = webhook.webhookStatus
  if (code === 'DELETED') return null
  const isActive = code === 'ACTIVE'
  return (
    <div className="form-actions">
      <Command
        label={t('webhooks.test')}
        title={t('webhooks.testTitle')}
        done={t('webhooks.tested')}
        tone="primary"
        run={() => client.call(testWebhook, call)}
      >
        <p>{t('webhooks.testEffect')}</p>
      </Command>
      <Edit webhook={webhook} />
      <Replay webhookId={webhook.bizId} />
      <Command
        label={t('webhooks.rotate')}
        title={t('webhooks.rotateTitle')}
        done={t('webhooks.rotated')}
        run={async () => onSecret((await client.call(rotateWebhookSecret, call)).secret)}
      >
        <p>{t('webhooks.rotateEffect')}</p>
      </Command>
      {isActive ? (
        <Command
          label={t('webhooks.disable')}
          title={t('webhooks.disableTitle')}
          done={t('webhooks.disabled')}
          run={() => client.call(disableWebhook, call)}
        >
          <p>{t('webhooks.disableEffect')}</p>
        </Command>
      ) : (
        <Command
          label={t('webhooks.enable')}
          title={t('webhooks.enableTitle')}
          done={t('webhooks.enabled')}
          run={() => client.call(enableWebhook, call)}
        >
          <p>{t(code === 'SUSPENDED' ? 'webhooks.enableSuspendedEffect' : 'webhooks.enableEffect')}</p>
        </Command>
      )}
      <Command
        label={t('webhooks.delete')}
        title={t('webhooks.deleteTitle')}
        done={t('webhooks.deleted')}
        tone="danger"
        run={async () => {
          await client.call(deleteWebhook, call)
          navigate('/webhooks')
        }}
      >
        <p>{t('webhooks.deleteEffect')}</p>
      </Command>
    </div>
  )
}
