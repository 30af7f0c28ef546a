/*
 * The typed client of the package "portico/client", safe in browsers: a method per operation of the contract, sign-in,
 * token renewal, retries and the secure channel. It imports the kernel and contract files only. Start reading with
 * `client.ts`; `operation-caller.ts` shows how a call runs and `attempt.ts` how one attempt is sent. `session/` holds the
 * sign-in and its renewal across browser tabs, `channel/` the client's side of the secure channel.
 */
export type { MfaMethod } from '../identity/mfa/contract.ts'
export { type ApiClient, type Client, type ClientFrame, createApiClient, createClient } from './client.ts'
export { type ClientCode, type ErrorCode, isPorticoError, PorticoError } from './errors.ts'
export type { Args, CallOptions, Operations, Progress, Result } from './operation-types.ts'
export type { ApiClientOptions, ClientOptions, EdgeHeaders, Exchange, RetryRule, SealRule } from './options.ts'
export type { TokenPair, Tokens } from './session/credentials.ts'
export type { Session } from './session/session.ts'
export type { SignedIn, SignIn } from './session/sign-in.ts'
export type { Storage } from './session/storage.ts'
