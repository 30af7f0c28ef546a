/*
 * The typed client `portico/client`, safe in browsers. Imports only files of the kernel and the contract. Start reading
 * with `client.ts`. `operation-caller.ts` runs a call, `attempt.ts` one attempt. `session/` has the sign-in, `channel/`
 * the secure channel, `streams/` server-sent events.
 */
export {
  type ApiClient,
  type Client,
  type ClientFrame,
  type ClientView,
  createApiClient,
  createClient,
  type Operations,
} from './client.ts'
export { type ClientCode, type ErrorCode, isPorticoError, isRefusal, PorticoError } from './errors.ts'
export type { SocketOptions } from './headers.ts'
export type * from './methods.ts'
export { iterate } from './operation-caller.ts'
export type { Args, CallOptions, Progress, Result, WorkspaceCallOptions } from './operation-types.ts'
export type {
  ApiClientOptions,
  ClientOptions,
  EdgeHeaders,
  HttpExchange,
  RetryRule,
  SealRule,
  SessionMode,
  StepUpPrompt,
} from './options.ts'
export type { CookieSession, SessionState } from './session/cookie-session.ts'
export type { TokenPair, Tokens } from './session/credentials.ts'
export type { ClientSession } from './session/session.ts'
export type { SignedIn, SignIn, StartedBrowserSession } from './session/sign-in.ts'
export type { Storage } from './session/storage.ts'
export type { ServerEvent } from './streams/event-parser.ts'
export { events } from './streams/events.ts'
