/*
 * The typed client `portico/client`, safe in browsers. Imports only files of the kernel and the contract. Start reading
 * with `client.ts`. `operation-caller.ts` runs a call, `attempt.ts` one attempt. `session/` has the sign-in, `channel/`
 * the secure channel, `streams/` server-sent events, `passkeys/` the passkeys, and `portal/` the small entries.
 */
export {
  type ApiClient,
  type Client,
  type ClientFrame,
  createApiClient,
  createClient,
  createSystemApiClient,
  type Operations,
  type SystemApiClient,
} from './client.ts'
export { type ClientCode, type ErrorCode, isPorticoError, isRefusal, PorticoError } from './errors.ts'
export type * from './methods.ts'
export { iterate } from './operation-caller.ts'
export type { ApiClientOptions, ClientOptions } from './options.ts'
export type * from './portal/public-types.ts'
export type { PorticoEvent } from './streams/cloud-event.ts'
export type { ServerEvent } from './streams/event-parser.ts'
export type { EventsOptions, ReceivedEvent } from './streams/follow.ts'
export { serverEvents } from './streams/server-events.ts'
