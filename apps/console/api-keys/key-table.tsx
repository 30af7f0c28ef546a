import type { AllApiKey, ApiKeyStatusCode, OperatorApiKeyEntry } from 'portal-client'
import type { ReactNode } from 'react'
import { Facts } from '../../kit/facts.tsx'
import { permissionName, t } from '../../kit/i18n.ts'
import { Badge, type Tone } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Command } from '../records/command.tsx'
import { AccountLink } from '../records/links.tsx'

type Key = AllApiKey | OperatorApiKeyEntry

export const statuses = ['ACTIVE', 'DISABLED', 'SUSPENDED', 'EXPIRED', 'DELETED'] as const

const tones: Readonly<Record<ApiKeyStatusCode, Tone>> = {
  ACTIVE: 'good',
  DISABLED: 'waiting',
  SUSPENDED: 'bad',
  EXPIRED: 'neutral',
  DELETED: 'neutral',
}

interface Props<Item extends Key> {
  label: string
  keys: readonly Item[]
  /** Further facts of a key. */
  about(key: Item): readonly (readonly [name: string, value: ReactNode])[]
  commands(key: Item): ReactNode
}

/** API keys as cards: a key has more facts than a row of a table can show. */
export function KeyTable<Item extends Key>({ label, keys, about, commands }: Props<Item>) {
  return (
    <ul className="api-keys-list" aria-label={label}>
      {keys.map((key) => (
        <li key={key.bizId} className="card">
          <div className="page-head">
            <h2>
              {key.apiKeyName} <Badge tone={tones[key.apiKeyStatus.code]}>{key.apiKeyStatus.label}</Badge>
            </h2>
            {commands(key)}
          </div>
          <Facts facts={[...factsOf(key), ...about(key)]} />
        </li>
      ))}
    </ul>
  )
}

interface CommandsProps {
  apiKey: Key
  /** Why the user cannot run the commands. */
  blocked: string | null
  /** The statuses from which a key can be enabled. */
  enabledFrom: readonly ApiKeyStatusCode[]
  /** Why the user cannot enable this key. */
  enablingBlocked?: string | null
  enable(reason: string): Promise<unknown>
  disable(reason: string): Promise<unknown>
  remove(reason: string): Promise<unknown>
}

/** The commands that the status of a key allows. */
export function KeyCommands({ apiKey, blocked, enabledFrom, enablingBlocked, enable, disable, remove }: CommandsProps) {
  const { code } = apiKey.apiKeyStatus
  const values = { name: apiKey.apiKeyName }
  if (code === 'DELETED') return null
  return (
    <span className="records-commands">
      {enabledFrom.includes(code) && (
        <Command
          label={t('api-keys.enable')}
          question={t('api-keys.enableQuestion', values)}
          run={(form) => enable(form('reason'))}
          done={t('api-keys.enabled')}
          blocked={blocked ?? enablingBlocked}
          asksReason
        />
      )}
      {code === 'ACTIVE' && (
        <Command
          label={t('api-keys.disable')}
          question={t('api-keys.disableQuestion', values)}
          run={(form) => disable(form('reason'))}
          done={t('api-keys.disabled')}
          blocked={blocked}
          tone="danger"
          asksReason
        />
      )}
      <Command
        label={t('api-keys.delete')}
        question={t('api-keys.deleteQuestion', values)}
        run={(form) => remove(form('reason'))}
        done={t('api-keys.deleted')}
        blocked={blocked}
        tone="danger"
        asksReason
      />
    </span>
  )
}

export const header = ['bizId', 'apiKeyName', 'key', 'status', 'permissionCodes', 'createdBy', 'createdAt', 'expiresAt']

export function rowOf({ keyPrefix, keyLast4, apiKeyStatus, permissionCodes, ...key }: Key) {
  const { bizId, apiKeyName, createdBy, createdAt, expiresAt } = key
  const shown = `${keyPrefix}…${keyLast4}`
  return [bizId, apiKeyName, shown, apiKeyStatus.code, permissionCodes.join(' '), createdBy, createdAt, expiresAt]
}

function factsOf(key: Key): readonly (readonly [name: string, value: ReactNode])[] {
  const { expiresAt, expiresSoon, lastUsedAt, lastUsedIp, ipAllowlist, credentialThumbprint } = key
  return [
    // Callers without a secret send the prefix.
    [
      t('api-keys.key'),
      <code key="key">{credentialThumbprint === null ? `${key.keyPrefix}…${key.keyLast4}` : key.keyPrefix}</code>,
    ],
    [t('api-keys.credential'), key.credential.label],
    ...(credentialThumbprint === null
      ? []
      : [[t('api-keys.thumbprint'), <code key="thumbprint">{credentialThumbprint}</code>] as const]),
    [t('operators.permissions'), key.permissionCodes.map(permissionName).join(', ') || t('records.nobody')],
    [t('api-keys.addresses'), ipAllowlist.join(', ') || t('records.any')],
    [t('api-keys.creator'), <AccountLink key="creator" id={key.createdBy} />],
    [t('records.created'), <Time key="created" at={key.createdAt} />],
    [
      t('api-keys.expires'),
      expiresAt === null ? (
        t('api-keys.noExpiry')
      ) : (
        <span key="expires">
          <Time at={expiresAt} /> {expiresSoon && <Badge tone="waiting">{t('api-keys.soon')}</Badge>}
        </span>
      ),
    ],
    [
      t('api-keys.lastUsed'),
      <span key="lastUsed">
        <Time at={lastUsedAt} none={t('records.never')} /> {lastUsedIp}
      </span>,
    ],
  ]
}
