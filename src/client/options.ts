import type { Locale, Portal } from '../kernel/index.ts'
import type { Storage } from './session/storage.ts'

/** The edge proxy's headers, for development and tests without an edge. */
export interface EdgeHeaders {
  /** The CF-Connecting-IP header. Default: 127.0.0.1. */
  clientIp?: string
  /** The cf-ipcountry header (ISO 3166 alpha-2). Default: XX. */
  country?: string
  /** The Cf-Ray header. By default a new one per request. */
  ray?: string
}

/**
 * Rules for retries of money commands and token renewals, which use the same request id. A call is retried if there is
 * no response, if the status is 502 or higher, and for `REQUEST.IN_PROGRESS`. Other calls are never retried.
 */
export interface RetryRule {
  /** Maximum number of attempts, including the first. Default 5; 1 disables retries. */
  attempts: number
  /** Delay before the second attempt, doubled for each further one, with jitter. Default 250 ms. */
  firstDelayMs: number
  /** Maximum delay. If the gateway's Retry-After is longer, the error is thrown. Default 10 s. */
  maxDelayMs: number
}

/** A request before sealing and its response after opening. Both can contain secrets. */
export interface Exchange {
  operationId: string
  requestId: string
  method: string
  /** The path with its query. */
  path: string
  sealed: boolean
  request: unknown
  status: number
  /** The envelope. Null for a stream. */
  reply: unknown
}

/**
 * Which calls use the secure channel. `sensitive`: calls with a body before sign-in, and calls that verify or change a
 * secret (passwords, codes, keys). `all`: every call that the interface allows. `none`: only calls with `seal: true`.
 */
export type SealRule = 'sensitive' | 'all' | 'none'

/** Options of every client. */
interface CommonOptions {
  /** The http(s) URL of the gateway, or a path on the page's own origin. It can include the path of a proxy. */
  baseUrl: string
  /** X-LOCALE. Default en. */
  locale?: Locale
  retry?: Partial<RetryRule>
  /**
   * Timeout of one attempt of a JSON call; at most 10 s for a token renewal. Default 30 s; Infinity disables it. Uploads and
   * downloads have no timeout.
   */
  timeoutMs?: number
  /**
   * Called for every attempt with a response, for recording and debugging. If it throws, the call rejects with that
   * error.
   */
  onExchange?: (exchange: Exchange) => void
  /** By default the global fetch. An upload with `onProgress` uses XMLHttpRequest instead. */
  fetch?: typeof globalThis.fetch
}

export interface ClientOptions<P extends Portal, Added extends readonly object[] = []> extends CommonOptions {
  /** Contract modules of domains that the gateway has in addition to Portico's own. */
  contract?: Added
  /** The portal whose operations the client has. Each portal has its own storage keys. */
  portal: P
  /** X-PORTAL-ACCESS-CODE. */
  accessCode: string
  /**
   * The X-Client-Hash header, to which tokens are bound. By default the stored one, or a random one that is then
   * stored.
   */
  clientHash?: string
  /** Headers of the edge; `true` for the defaults. Do not set this in production, where the edge adds these headers. */
  edgeHeaders?: boolean | EdgeHeaders
  /**
   * Where tokens and client hash are stored. By default, and for values that the storage rejects, in this client's
   * memory.
   *
   * localStorage shares a sign-in between tabs. After a sign-in in one tab, all other tabs use the new account from
   * their next call on, without a notification. A page that shows the account should reload it when the page becomes
   * visible.
   *
   * sessionStorage is not shared, but a duplicated tab starts with a copy. Both tabs then have the same refresh token.
   * If they use it more than 30 s apart, the gateway assumes a theft and ends both sessions.
   */
  storage?: Storage
  /** Default `sensitive`. */
  seal?: SealRule
  /** Called once the session has ended. If another tab signs out, this is called at the next call. */
  onSignedOut?: () => void
  /** Returns the current time in epoch milliseconds. */
  now?: () => number
}

/** Options for machines, which use the api chain, `/api/v1/consumer`. */
export interface ApiClientOptions<Added extends readonly object[] = []> extends CommonOptions {
  /** Contract modules of domains that the gateway has in addition to Portico's own. */
  contract?: Added
  /** A workspace's API key. It determines the workspace. */
  apiKey: string
}

/** The options with their defaults. */
export interface Settings {
  baseUrl: string
  /** Empty on the api chain, which requires none. */
  accessCode: string
  locale: Locale
  edge: EdgeHeaders | null
  seal: SealRule
  retry: RetryRule
  timeoutMs: number
  onExchange: (exchange: Exchange) => void
  fetch: typeof globalThis.fetch
}

const resolveEdge = (headers: boolean | EdgeHeaders = false): EdgeHeaders | null => {
  if (headers === true) return {}
  return headers === false ? null : headers
}

/**
 * Throws a TypeError for a URL without a scheme. fetch would report a network error, or would use a path of the page.
 */
const resolveBaseUrl = (baseUrl: string): string => {
  if (/^(https?:\/\/|\/|$)/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(`baseUrl: ${baseUrl} must start with http://, https:// or /`)
}

/** Throws a TypeError for NaN, for example from an unset variable, and for a timeout of zero or less. */
const resolveTimeout = (timeoutMs = 30_000): number => {
  if (timeoutMs > 0) return timeoutMs
  throw new TypeError(`timeoutMs: ${timeoutMs} must be greater than 0`)
}

const resolveRetry = ({
  attempts = 5,
  firstDelayMs = 250,
  maxDelayMs = 10_000,
}: Partial<RetryRule> = {}): RetryRule => {
  for (const [name, value] of Object.entries({ attempts, firstDelayMs, maxDelayMs }))
    if (!(value >= 0)) throw new TypeError(`retry.${name}: ${value} must be at least 0`)
  return { attempts, firstDelayMs, maxDelayMs }
}

type AnyOptions = CommonOptions & Partial<Pick<ClientOptions<Portal>, 'accessCode' | 'edgeHeaders' | 'seal'>>

/** Fills in the defaults. Throws TypeError for an invalid option. */
export const resolveOptions = (options: AnyOptions): Settings => ({
  baseUrl: resolveBaseUrl(options.baseUrl),
  accessCode: options.accessCode ?? '',
  locale: options.locale ?? 'en',
  edge: resolveEdge(options.edgeHeaders),
  seal: options.seal ?? 'sensitive',
  retry: resolveRetry(options.retry),
  timeoutMs: resolveTimeout(options.timeoutMs),
  onExchange: options.onExchange ?? (() => undefined),
  // A browser's fetch must be called on the global object.
  fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
})
