import { apiKeyPermissions } from '../../contract/permissions.ts'
import type { Database } from '../../database/index.ts'
import type { AuthenticationPort, WorkspacePort } from '../../gateway/pipeline/ports.ts'
import type { Clock, HandlerTable, Ids, Randomness, Words } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { type AdmitAddress, authenticator } from './authenticate.ts'
import { createHandlers } from './handlers.ts'
import { createLastUse } from './last-use.ts'
import { createService, type ServicePorts } from './service.ts'

export interface ApiKeyPorts {
  database: Database
  words: Words
  ids: Ids
  clock: Clock
  randomness: Randomness
  digest: KeyedDigest
  gate: WorkspacePort
  admit: AdmitAddress
  members: ServicePorts['members']
  settings: ServicePorts['settings']
  /** Told when a key's last use could not be written: nobody waits for it. */
  onFault(error: unknown): void
}

export interface ApiKeys {
  handlers: HandlerTable
  authenticate: AuthenticationPort['apiKey']
  /** Waits for the last uses that are being written; before the store closes. */
  settle(): Promise<void>
}

export const createApiKeys = (ports: ApiKeyPorts): ApiKeys => {
  const lastUse = createLastUse(ports.database, ports.onFault)
  return {
    handlers: createHandlers(createService(ports), ports.words, apiKeyPermissions),
    authenticate: authenticator({ ...ports, lastUse }),
    settle: lastUse.settle,
  }
}
