import type { AuthenticationPort } from '../../gateway/pipeline/ports.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import { ApiKeyAuthentication, type AuthenticationPorts, LastUseRecorder } from './authentication.ts'
import { createHandlers } from './handlers.ts'
import type { ApiKeyServicePorts } from './service.ts'

/*
 * API keys of a workspace, and authentication by them. A key acts for the account that made it. Start reading in
 * `rules.ts`; the format of a key is in `secret.ts`.
 */

export interface ApiKeyPorts extends ApiKeyServicePorts, AuthenticationPorts {
  members: ApiKeyServicePorts['members'] & AuthenticationPorts['members']
  words: Words
  /** Called when the last use of a key could not be written. */
  onError(error: unknown): void
}

export interface ApiKeys {
  handlers: HandlerTable
  authenticate: AuthenticationPort['apiKey']
  /** Waits for pending writes of last uses. Call it before the store closes. */
  settle(): Promise<void>
}

export const createApiKeys = (ports: ApiKeyPorts): ApiKeys => {
  const lastUse = new LastUseRecorder(ports.database, (error) => ports.onError(error))
  const authentication = new ApiKeyAuthentication(ports, lastUse)
  return {
    handlers: createHandlers(ports),
    authenticate: (credential) => authentication.authenticate(credential),
    settle: () => lastUse.settle(),
  }
}
