import { declaredBy, domain } from '../../api/domain.ts'
import type { AuthenticationPort } from '../../gateway/pipeline/ports.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import { ApiKeyAuthentication, type AuthenticationPorts, LastUseRecorder } from './authentication.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { migrations } from './schema.ts'
import type { ApiKeyServicePorts } from './service.ts'

/*
 * API keys of a workspace, and authentication with them. A key acts as the account that created it. Depends on the
 * memberships of `members` through a port. Start reading in `service.ts`; the format of a key is in `authentication.ts`.
 */

export interface ApiKeyPorts extends ApiKeyServicePorts, AuthenticationPorts {
  members: ApiKeyServicePorts['members'] & AuthenticationPorts['members']
  words: Words
  /** Called when writing the last use of a key fails. */
  onError(error: unknown): void
}

export interface ApiKeys {
  handlers: HandlerTable
  authenticate: AuthenticationPort['apiKey']
  /** Waits for pending writes of last uses. Call before closing the store. */
  settle(): Promise<void>
}

/** Builds the domain. */
export const createApiKeys = (ports: ApiKeyPorts): ApiKeys => {
  const lastUse = new LastUseRecorder(ports.database, (error) => ports.onError(error))
  const authentication = new ApiKeyAuthentication(ports, lastUse)
  return {
    handlers: createHandlers(ports),
    authenticate: (credential) => authentication.authenticate(credential),
    settle: () => lastUse.settle(),
  }
}

declare module '../../api/services.ts' {
  interface DomainServices {
    apiKeys: Pick<ApiKeys, 'authenticate'>
  }
}

export default domain({
  name: 'apiKeys',
  ...declaredBy(contract),
  migrations,
  uses: ['members'],
  create: ({ use, sessions, catalogue, configuration, logger, ...ports }) => {
    const { memberships, enter } = use('members')
    const { handlers, authenticate, settle } = createApiKeys({
      ...ports,
      members: { assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access), enter },
      permissions: catalogue.apiKeyPermissions,
      assertAddressAllowed: sessions.assertAddressAllowed,
      settings: configuration.access.apiKeys,
      onError: (error) => logger.warn({ err: error }, 'last use of an API key could not be stored'),
    })
    return { handlers, service: { authenticate }, close: settle }
  },
})
