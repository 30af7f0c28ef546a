import type { sendStepUpCode } from '../identity/mfa/contract.ts'
import type { FixedPortal, Locale, PortalMount } from '../kernel/index.ts'
import type { PorticoError } from './errors.ts'
import type { Result } from './operation-types.ts'
import type { PasskeyFeature, StepUpPurpose } from './passkeys/feature.ts'
import type { AskedFactor, OtherFactor } from './session/factor.ts'
import type { Storage } from './session/storage.ts'

/** The edge's headers, for development and tests without an edge. */
export interface EdgeHeaders {
  /** CF-Connecting-IP. Default: 127.0.0.1. */
  clientIp?: string
  /** cf-ipcountry (ISO 3166 alpha-2). Default: XX. */
  country?: string
  /** Cf-Ray. Default: a new value per request. */
  ray?: string
}

/**
 * Retries of money commands and token renewals after a connection error, a status of 502 or higher, or
 * `REQUEST.IN_PROGRESS`. Retries have the same request id and Idempotency-Key. If a proxy replaces the id, and no response
 * has confirmed the key, a command is not repeated: `CLIENT.REQUEST_ID_REPLACED`.
 */
export interface RetryRule {
  /** Maximum number of attempts, including the first. Default: 5. */
  attempts: number
  /** Milliseconds before the second attempt, with jitter. Doubles each time. Default: 250. */
  firstDelayMs: number
  /** Maximum delay in milliseconds. A longer Retry-After throws the error. Default: 10,000. */
  maxDelayMs: number
}

/** A request before sealing and its response after opening. Both may contain secrets. */
export interface HttpExchange {
  operationId: string
  requestId: string
  method: string
  /** The path with its query. */
  path: string
  sealed: boolean
  request: unknown
  status: number
  /** The response envelope. Null for a stream. */
  reply: unknown
}

/**
 * `sensitive` seals bodies before sign-in, and calls that verify or change a secret. `all` seals every call that the
 * interface allows. `none` seals only calls with `seal: true`.
 */
export type SealRule = 'sensitive' | 'all' | 'none'

/** Options of every client. */
interface CommonOptions {
  /** The gateway's http(s) URL, or a path on the page's origin. May include a proxy's path. */
  baseUrl: string
  /** The X-LOCALE header. Default: en. */
  locale?: Locale
  retry?: Partial<RetryRule>
  /**
   * Timeout of one attempt of a JSON call in milliseconds. Default: 30 s. Infinity disables it. A token renewal uses at
   * most 10 s.
   */
  timeoutMs?: number
  /** Called for every attempt with a response. An error that it throws rejects the call. */
  onExchange?: (exchange: HttpExchange) => void
  /** Default: the global fetch. An upload with `onProgress` uses XMLHttpRequest. */
  fetch?: typeof globalThis.fetch
}

/** Asks for the code of a step-up. */
export interface StepUpPrompt {
  /**
   * Returns the user's code for the operation, or another factor that the user chose. `purpose` is what the code confirms.
   * `sent` is null if the user generates the code. `refused` is the refusal of the previous code, or null at first. If the gateway
   * cannot mail another code yet, `refused` is ACCESS.RATE_LIMITED with `retryAfter`: an unused code that was mailed for the same
   * command is still valid. An error that it throws rejects the call.
   */
  code(
    step: AskedFactor & {
      operationId: string
      purpose: StepUpPurpose
      sent: Result<typeof sendStepUpCode> | null
      refused: PorticoError | null
    },
  ): Promise<string | OtherFactor> | string | OtherFactor
  /** Maximum number of codes to try. Default: 1. */
  attempts?: number
  /**
   * Returns whether to confirm with a passkey, if the client and the account have one. Called again after each failure.
   * Default: one attempt, then a code. An error that it throws rejects the call.
   */
  usePasskey?(step: { operationId: string; failed: PorticoError | null }): Promise<boolean> | boolean
}

/** Where the credentials are: tokens in the client, or a cookie that no script can read. */
export type SessionMode = 'tokens' | 'cookie'

/** Options of the clients of portals. */
export interface PortalOptions extends CommonOptions {
  /** The X-PORTAL-ACCESS-CODE header. */
  accessCode: string
  /**
   * A portal that the configuration of the gateway declares, and its prefix: `{ portal: 'MERCHANT', prefix: 'merchant' }`. Its
   * client has the calls of CONSUMER. Default: the portal of the client.
   */
  mount?: PortalMount
  /** The X-Client-Hash header, to which tokens are bound. Default: the stored hash, or a new random one. */
  clientHash?: string
  /** `true` sends the defaults. Do not set this behind an edge. */
  edgeHeaders?: boolean | EdgeHeaders
  /** Default: `sensitive`. */
  seal?: SealRule
  /**
   * Called once after the session has ended. After another tab's sign-out, called at the next call, or immediately if the
   * session has a listener (`onChange`).
   */
  onSignedOut?: () => void
  /** Returns the current time in epoch milliseconds. */
  now?: () => number
}

export interface ClientOptions<
  P extends FixedPortal,
  Added extends readonly object[] = [],
  M extends SessionMode = 'tokens',
> extends PortalOptions {
  /** Contract modules of additional domains. */
  contract?: Added
  /** The portal. Storage keys are separate for each portal. */
  portal: P
  /**
   * Asks for a code if a call needs a step-up. The client sends the purpose, and repeats the call with the same request id.
   * Default: the call rejects with ACCESS.STEP_UP_REQUIRED.
   */
  onStepUp?: StepUpPrompt
  /** Default: `tokens`. Pages use `cookie`, so that a script that was injected finds no token. */
  session?: M
  /**
   * Binds the session to a key that no script can read (DPoP, RFC 9449), so that stolen tokens are worthless. Only for
   * `tokens`. The key is in IndexedDB, or outside of browsers in memory. `baseUrl` must be the `publicUrl` of the gateway, or a
   * path on its origin. Default: false.
   */
  dpop?: boolean
  /**
   * Default: memory, which also keeps values that the storage rejects. In cookie mode it has only the client hash and the
   * account, and the default is localStorage.
   *
   * localStorage shares a sign-in between tabs. After another tab has signed in a different account, calls fail with
   * `CLIENT.SIGNED_IN_ELSEWHERE` until the page is reloaded.
   *
   * A duplicated tab copies sessionStorage. If one tab uses the copied refresh token after the other has used its
   * successor, the gateway assumes a theft and ends both sessions.
   */
  storage?: Storage
  /** `webAuthn()` of `portico-client/passkeys`. Default: the client uses no passkeys. */
  passkeys?: PasskeyFeature
}

/** An API key with a public key. */
export interface ApiKeyPair {
  /** `ptk_…` or `pok_…`. */
  keyPrefix: string
  /** The private key: P-256, Ed25519 or RSA. */
  privateKey: CryptoKey
}

/** Options for machines, which use `/api/v1/consumer` or, with an API key of operators, `/api/v1/system`. */
export interface ApiClientOptions<Added extends readonly object[] = []> extends CommonOptions {
  /** Contract modules of additional domains. */
  contract?: Added
  /**
   * An API key. That of a workspace determines the workspace of each call. A key with a public key is its prefix and the
   * private key. A key with a certificate is only its prefix, and `fetch` uses the certificate.
   */
  apiKey: string | ApiKeyPair
  /** The portal of the workspace, if the configuration of the gateway declares it. Default: CONSUMER. */
  mount?: PortalMount
}

export interface Settings {
  baseUrl: string
  /** Empty on the api chain. */
  accessCode: string
  credentials: RequestCredentials
  locale: Locale
  edge: EdgeHeaders | null
  seal: SealRule
  retry: RetryRule
  timeoutMs: number
  onExchange: (exchange: HttpExchange) => void
  fetch: typeof globalThis.fetch
}

type AnyOptions = CommonOptions &
  Partial<Pick<ClientOptions<FixedPortal, [], SessionMode>, 'accessCode' | 'edgeHeaders' | 'seal' | 'session'>>

export function resolveOptions(options: AnyOptions): Settings {
  return {
    baseUrl: resolveBaseUrl(options.baseUrl),
    accessCode: options.accessCode ?? '',
    credentials: options.session === 'cookie' ? 'include' : 'omit',
    locale: options.locale ?? 'en',
    edge: resolveEdge(options.edgeHeaders),
    seal: options.seal ?? 'sensitive',
    retry: resolveRetry(options.retry),
    timeoutMs: resolveTimeout(options.timeoutMs),
    onExchange: options.onExchange ?? (() => undefined),
    // A browser's fetch must be called on the global object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  }
}

/** Throws a TypeError for a URL without a scheme, which fetch could resolve against the page. */
function resolveBaseUrl(baseUrl: string): string {
  if (/^(https?:\/\/|\/|$)/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(`baseUrl: ${baseUrl} must start with http://, https:// or /`)
}

function resolveEdge(headers: boolean | EdgeHeaders = false): EdgeHeaders | null {
  if (headers === true) return {}
  return headers === false ? null : headers
}

function resolveRetry({ attempts = 5, firstDelayMs = 250, maxDelayMs = 10_000 }: Partial<RetryRule> = {}): RetryRule {
  for (const [name, value] of Object.entries({ attempts, firstDelayMs, maxDelayMs }))
    if (!(value >= 0)) throw new TypeError(`retry.${name}: ${value} must be at least 0`)
  return { attempts, firstDelayMs, maxDelayMs }
}

/** Throws a TypeError for NaN and for zero or less. */
function resolveTimeout(timeoutMs = 30_000): number {
  if (timeoutMs > 0) return timeoutMs
  throw new TypeError(`timeoutMs: ${timeoutMs} must be greater than 0`)
}
