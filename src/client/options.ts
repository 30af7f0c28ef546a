import type { Locale, Portal } from '../kernel/index.ts'
import type { Storage } from './session/storage.ts'

/** What the edge proxy would say; for development and tests, where there is none. */
export interface EdgeHeaders {
  /** CF-Connecting-IP. Default 127.0.0.1. */
  clientIp?: string
  /** cf-ipcountry, ISO 3166 alpha-2. Default XX. */
  country?: string
  /** Cf-Ray. Default a fresh one per request. */
  ray?: string
}

/**
 * How often and how withoutTimeouts a money command or a renewal of tokens is tried again, under one request id, where no answer
 * came, what stands between said so (a status from 502 on) or the gateway asked for patience (`REQUEST.IN_PROGRESS`). Nothing
 * else is tried again.
 */
export interface RetryRule {
  /** Tries in all, the first one included. Default 5; 1 never tries again. */
  attempts: number
  /** Before the second try, doubled before each further one, with jitter. Default 250 ms. */
  firstDelayMs: number
  /** No wait is longer; where the gateway asks for a longer one the error is thrown instead. Default 10 s. */
  maxDelayMs: number
}

/** One request and its answer as they were before sealing and after opening, so with what is secret in them. */
export interface Exchange {
  operationId: string
  requestId: string
  method: string
  /** With its query. */
  path: string
  sealed: boolean
  request: unknown
  status: number
  /** The envelope; null for a stream. */
  reply: unknown
}

/**
 * What goes through the secure channel. `sensitive`: bodies before sign-in, and whatever proves or changes a secret
 * (passwords, codes, keys). `all`: whatever the interface lets through it. `none`: only calls that ask for it.
 */
export type SealRule = 'sensitive' | 'all' | 'none'

/** What any client may be told. */
interface CommonOptions {
  /** Where the gateway is, with its scheme, or a path at the page's own origin; a path of a proxy in front may be part of it. */
  baseUrl: string
  /** X-LOCALE. Default en. */
  locale?: Locale
  retry?: Partial<RetryRule>
  /**
   * How long one try of a JSON call may take, a renewal of tokens 10 s at most. Default 30 s; Infinity sets no bound. Bytes
   * take as long as they take.
   */
  timeoutMs?: number
  /** Told of every try that was answered, for recording and debugging; what it throws is the call's error. */
  onExchange?: (exchange: Exchange) => void
  /** What sends requests. Default the global one; an upload whose `onProgress` is asked for goes by XMLHttpRequest. */
  fetch?: typeof globalThis.fetch
}

export interface ClientOptions<P extends Portal> extends CommonOptions {
  /** Which portal's operations the client has; storage is kept apart by it. */
  portal: P
  /** X-PORTAL-ACCESS-CODE. */
  accessCode: string
  /** X-Client-Hash. Otherwise the stored one, or a random one, which is then stored: tokens are bound to it. */
  clientHash?: string
  /** `true` for the defaults. In production the edge sets these, and a client must not. */
  edgeHeaders?: boolean | EdgeHeaders
  /**
   * Where tokens and client hash are kept. localStorage shares a sign-in among tabs: all of them act for whoever signed in
   * last, in any of them, from their next call on, and none is told, so a page that shows who it is asks again as it becomes
   * visible. sessionStorage does not share, but a duplicated tab begins with a copy of it: two tabs then spend one refresh
   * token, and more than 30 s apart that is theft and ends both.
   * Default, and for what it refuses: this client's memory.
   */
  storage?: Storage
  /** Default `sensitive`. */
  seal?: SealRule
  /** The session is over and signing in again is due. An end that another tab made is told at the next call. */
  onSignedOut?: () => void
  /** Epoch milliseconds. */
  now?: () => number
}

/** For a machine: the second chain, `/api/v1/consumer`. */
export interface ApiClientOptions extends CommonOptions {
  /** An API key of a workspace; the key implies the workspace. */
  apiKey: string
}

/** What a call needs of the options, with the defaults filled in. */
export interface Settings {
  baseUrl: string
  /** Empty on the second chain, which asks for none. */
  accessCode: string
  locale: Locale
  edge: EdgeHeaders | null
  seal: SealRule
  retry: RetryRule
  timeoutMs: number
  onExchange: (exchange: Exchange) => void
  fetch: typeof globalThis.fetch
}

const edgeOf = (given: boolean | EdgeHeaders = false): EdgeHeaders | null => {
  if (given === true) return {}
  return given === false ? null : given
}

/** Without a scheme fetch fails as where no network is, or asks below the page's own path. */
const baseOf = (baseUrl: string): string => {
  if (/^(https?:\/\/|\/|$)/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(`baseUrl: ${baseUrl} begins with none of http://, https:// and /`)
}

/** What is no number, such as a variable that is not set, would end every call at once or never. */
const timeoutOf = (timeoutMs = 30_000): number => {
  if (timeoutMs > 0) return timeoutMs
  throw new TypeError(`timeoutMs: ${timeoutMs} is no time that an answer could take`)
}

const retryOf = ({ attempts = 5, firstDelayMs = 250, maxDelayMs = 10_000 }: Partial<RetryRule> = {}): RetryRule => {
  for (const [name, value] of Object.entries({ attempts, firstDelayMs, maxDelayMs }))
    if (!(value >= 0)) throw new TypeError(`retry.${name}: ${value} is no number from 0 on`)
  return { attempts, firstDelayMs, maxDelayMs }
}

type Given = CommonOptions & Partial<Pick<ClientOptions<Portal>, 'accessCode' | 'edgeHeaders' | 'seal'>>

export const resolveOptions = (options: Given): Settings => ({
  baseUrl: baseOf(options.baseUrl),
  accessCode: options.accessCode ?? '',
  locale: options.locale ?? 'en',
  edge: edgeOf(options.edgeHeaders),
  seal: options.seal ?? 'sensitive',
  retry: retryOf(options.retry),
  timeoutMs: timeoutOf(options.timeoutMs),
  onExchange: options.onExchange ?? (() => undefined),
  // A browser's fetch works only as a call on the global object.
  fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
})
