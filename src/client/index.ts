/*
 * The typed client of the package "portico/client", safe in browsers: a method per operation of the contract, sign-in,
 * token renewal, retries and the secure channel. It imports the kernel and contract files only. Start reading with
 * `client.ts`; `operation-caller.ts` shows how a call runs and `attempt.ts` how one attempt is sent.
 */
export type { MfaMethod } from '../identity/mfa/contract.ts'
export { type ApiClient, createApiClient } from './api-client.ts'
export { type Client, type ClientFrame, createClient } from './client.ts'
export { type ClientCode, type ErrorCode, isPorticoError, PorticoError } from './errors.ts'
export type { Args, CallOptions, Operations, Progress, Result } from './operation-types.ts'
export type { ApiClientOptions, ClientOptions, EdgeHeaders, Exchange, RetryRule, SealRule } from './options.ts'
export type { Session, Storage, TokenPair, Tokens } from './session/index.ts'
export type { SignedIn, SignIn } from './session/sign-in.ts'
