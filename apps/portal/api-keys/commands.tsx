import { type AllApiKey, deleteApiKey, disableApiKey, enableApiKey } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'

/** The commands that the status allows. */
export function ApiKeyCommands({ apiKey }: { apiKey: AllApiKey }) {
  const { bizId: apiKeyBizId, workspaceBizId: workspaceId, apiKeyName: name, apiKeyStatus } = apiKey
  const mayManage = usePermission('api-key:manage')
  const { code } = apiKeyStatus
  if (!mayManage || code === 'DELETED') return '–'
  const call = { workspaceId, body: { apiKeyBizId } }
  return (
    <div className="form-actions">
      {code === 'ACTIVE' && (
        <Command
          label={t('api-keys.disable')}
          subject={name}
          title={t('api-keys.disableTitle', { name })}
          done={t('api-keys.disabled', { name })}
          run={() => client.call(disableApiKey, call)}
        >
          <p>{t('api-keys.disableEffect')}</p>
        </Command>
      )}
      {(code === 'DISABLED' || code === 'SUSPENDED') && (
        <Command
          label={t('api-keys.enable')}
          subject={name}
          title={t('api-keys.enableTitle', { name })}
          done={t('api-keys.enabled', { name })}
          run={() => client.call(enableApiKey, call)}
        >
          <p>{t(code === 'SUSPENDED' ? 'api-keys.enableSuspendedEffect' : 'api-keys.enableEffect')}</p>
        </Command>
      )}
      <Command
        label={t('api-keys.delete')}
        subject={name}
        title={t('api-keys.deleteTitle', { name })}
        done={t('api-keys.deleted', { name })}
        tone="danger"
        run={() => client.call(deleteApiKey, call)}
      >
        <p>{t('api-keys.deleteEffect')}</p>
      </Command>
    </div>
  )
}
