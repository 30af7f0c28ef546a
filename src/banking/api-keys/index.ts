import { declaredBy, domain } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import { bizId, days, type HandlerTable } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { ApiKeyAuthentication, type AuthenticationPorts, LastUseRecorder } from './authentication.ts'
import * as contract from './contract.ts'
import { apiKeyEvents } from './events.ts'
import { expiryMailJob, expiryWarningJob, type WarningPorts } from './expiry.ts'
import { countExpiringKeys } from './expiry-store.ts'
import { createHandlers, type HandlerPorts } from './handlers.ts'
import { type EndingMailPorts, type EndingPorts, endingMailJob } from './operator-commands.ts'
import { operatorNoticeJob } from './operator-keys/notices.ts'
import { lockProviderOfKey, providerOfKey } from './operator-keys/store.ts'
import { apiKeySettings, operatorKeySettings } from './rules.ts'
import { keyedColumns, migrations } from './schema.ts'
import { type ApiKeyServicePorts, suspendApiKeys } from './service.ts'

/*
 * API keys of a workspace, and authentication with them. A key acts as the account that created it. Start reading in
 * `service.ts`; the format of a key is in `authentication.ts`.
 */

export interface ApiKeyPorts extends HandlerPorts, AuthenticationPorts, EndingMailPorts {
  members: ApiKeyServicePorts['members'] &
    AuthenticationPorts['members'] &
    EndingPorts['members'] &
    WarningPorts['members']
  /** Receives failures to write a last use. */
  onError(error: unknown): void
}

export interface ApiKeys {
  handlers: HandlerTable
  events: EventMapper[]
  /** Finds keys that expire soon. */
  jobs: JobKind[]
  /** Mails the people whose keys have ended or expire soon. */
  mailJobs: JobKind[]
  authenticate: ApiKeyAuthentication['authenticate']
  countExpiring(): Promise<ReadonlyMap<number, number>>
  /** Call before closing the store. */
  settle(): Promise<void>
}

/** For the domain `provisioning`. Undefined for a key that has ended or belongs to no identity provider. */
export interface OperatorKeys {
  providerOf(store: Database, apiKeyId: string | null): Promise<string | undefined>
  /** Keeps the key until the end of the transaction. */
  lockProviderOf(tx: Tx, apiKeyId: string | null): Promise<string | undefined>
}

const operatorKeys: OperatorKeys = {
  providerOf: async (store, id) => (id === null ? undefined : providerOfKey(store, bizId(id))),
  lockProviderOf: async (tx, id) => (id === null ? undefined : lockProviderOfKey(tx, bizId(id))),
}

export function createApiKeys(ports: ApiKeyPorts): ApiKeys {
  const lastUse = new LastUseRecorder(ports.database, (error) => ports.onError(error))
  const authentication = new ApiKeyAuthentication(ports, lastUse)
  return {
    handlers: createHandlers(ports),
    events: [apiKeyEvents(ports)],
    jobs: [expiryWarningJob(ports)],
    mailJobs: [endingMailJob(ports), expiryMailJob(ports), operatorNoticeJob(ports)],
    authenticate: (credential) => authentication.authenticate(credential),
    countExpiring: async () => {
      const [{ database, settings }, at] = [ports, ports.clock.now()]
      const counts = await countExpiringKeys(database, 'api_keys', { at, maxLifeMs: settings.maxLifeMs })
      const { maxLifeMs } = operatorKeySettings(settings)
      const ofOperators = await countExpiringKeys(database, 'operator_api_keys', { at, maxLifeMs })
      return new Map([...counts].map(([within, count]) => [within, count + (ofOperators.get(within) ?? 0)]))
    },
    settle: () => lastUse.settle(),
  }
}

const ownerNotices = ['API_KEY_CREATED', 'API_KEY_ENABLED'] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    apiKeys: typeof ownerNotices
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    apiKeys: Pick<ApiKeys, 'authenticate' | 'countExpiring'> & { operatorKeys: OperatorKeys }
  }
}

export default domain({
  name: 'apiKeys',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  mails: {
    directory: new URL('./mails/', import.meta.url),
    templates: {
      'key-expiry': ['key', 'workspace', 'time', 'url'],
      'operator-key': ['change', 'key', 'operator', 'time', 'url'],
    },
  },
  migrations,
  keyedColumns,
  settings: apiKeySettings,
  settingsKey: 'access.apiKeys',
  defaults: { maxPerWorkspace: 100, maxLifeMs: days(365), addressList: 'replace' },
  productionRules: { maxLifeMs: 'maximum' },
  uses: ['members'],
  needs: [
    'accounts',
    'clock',
    'database',
    'deployment',
    'digest',
    'ids',
    'logger',
    'mailer',
    'permissions',
    'randomness',
    'sessions',
    'signInUrl',
    'transaction',
    'words',
  ],
  create: ({ use, sessions, permissions, deployment, logger, ...ports }) => {
    const { memberships, notices, enter, stay } = use('members')
    const { handlers, events, jobs, mailJobs, authenticate, countExpiring, settle } = createApiKeys({
      ...ports,
      notices,
      members: {
        enter,
        stay,
        lock: (tx, workspace) => memberships.lock(tx, workspace),
        assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access),
        assertMayGrant: (tx, grantor, permissionCodes) =>
          memberships.assertMayGrant(tx, grantor, { roleType: 'CUSTOM', permissionCodes }),
        assertMayRestore: (tx, account, workspace) => memberships.assertMayRestore(tx, account, workspace),
        powerOf: (permissionCodes) => memberships.powerOf({ roleType: 'CUSTOM', permissionCodes }),
        assertOutsider: (tx, account, workspace) => memberships.assertOutsider(tx, account, workspace),
        accessOf: (tx, account, workspace) => memberships.accessOf(tx, account, workspace),
        ownersOf: (tx, workspace) => memberships.ownersOf(tx, workspace),
      },
      permissions: permissions.apiKey,
      portals: deployment.portals,
      providers: deployment.identityProviders,
      assertAddressAllowed: sessions.assertAddressAllowed,
      assertSessionOpen: sessions.assertOpen,
      stepUpMs: sessions.stepUpMs,
      onError: (error) => logger.warn({ err: error }, 'last use of an API key could not be stored'),
    })
    const service = { authenticate, countExpiring, operatorKeys }
    return { handlers, events, jobs, gatewayJobs: mailJobs, service, onAccountRecovered: suspendApiKeys, close: settle }
  },
})
