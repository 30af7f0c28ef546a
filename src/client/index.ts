import './browser.ts'

export type { Args, CallOptions, Operations, Progress, Result } from './contract-types.ts'
export { type ApiClient, createApiClient } from './create-api-client.ts'
export { type Client, type ClientFrame, createClient } from './create-client.ts'
export { type ClientCode, type ErrorCode, isPorticoError, PorticoError } from './error.ts'
export type { ApiClientOptions, ClientOptions, EdgeHeaders, Exchange, RetryRule, SealRule } from './options.ts'
export type { Session, Storage, TokenPair, Tokens } from './session/index.ts'
export type { MfaMethod, SignedIn, SignIn } from './sign-in.ts'
