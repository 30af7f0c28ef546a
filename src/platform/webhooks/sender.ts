import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Clock, type Durations, errorCode } from '../../kernel/index.ts'
import { lookupPublic, systemDurations } from '../runtime/index.ts'
import { hostOf, isAllowedAddress, isLoopbackName, isReceiverUrl, type ReceiverRules } from './addresses.ts'
import { type SignedMessage, signatureHeaders } from './signature.ts'

/** Why no response came. */
export type WebhookFailure = 'ADDRESS_REFUSED' | 'NAME_NOT_FOUND' | 'TIMEOUT' | 'TLS' | 'CONNECTION'

export interface WebhookResponse {
  /** Null without a response. */
  status: number | null
  /** The beginning of the response body, as text. */
  body: string
  /** The `Retry-After` header. */
  retryAfter: string | null
  failure: WebhookFailure | null
  durationMs: number
}

export interface WebhookSender {
  /** Never rejects because of the receiver. Rejects once the signal is aborted. */
  send(message: Omit<SignedMessage, 'at'> & { url: string }, signal: AbortSignal): Promise<WebhookResponse>
}

interface LookupAddress {
  address: string
  family: number
}

/** Resolves with all addresses of a name. */
export type LookupAll = (name: string) => Promise<readonly LookupAddress[]>

export interface SenderPorts {
  clock: Clock
  durations?: Durations
  /** Null for a receiver of the configuration, which can be in a private network. */
  rules: ReceiverRules | null
  lookupAll?: LookupAll
  /** Certificate authorities, instead of those of Node.js. */
  ca?: string
}

/** For the whole attempt: the look-up, the connection, the request and the response. */
const timeoutMs = 15_000
/** The maximum that a delivery log shows of a response. */
const maxShownBytes = 4_096

/**
 * Each attempt has its own connection, so that no tenant's receiver can affect another one's, and its own look-up, whose
 * addresses are checked and then used. It follows no redirect, and uses no proxy, which would look up the name again.
 */
export function createWebhookSender({
  clock,
  durations = systemDurations,
  rules,
  lookupAll = lookupPublic,
  ca,
}: SenderPorts): WebhookSender {
  return {
    send: async ({ url: text, ...message }, signal) => {
      const startedAt = durations.now()
      const timeout = new AbortController()
      const timer = durations.after(timeoutMs, () => timeout.abort())
      const ended = AbortSignal.any([signal, timeout.signal])
      const result = (fields: Partial<WebhookResponse>): WebhookResponse => ({
        ...{ status: null, body: '', retryAfter: null, failure: null, ...fields },
        durationMs: Math.round(durations.now() - startedAt),
      })
      try {
        if (rules && !isReceiverUrl(text, rules)) return result({ failure: 'ADDRESS_REFUSED' })
        const url = new URL(text)
        const addresses = await abortable(resolve(url, lookupAll), ended)
        // A name that also has a local address is an attack or a mistake.
        if (rules && !addresses.every(allowedBy(rules, url))) return result({ failure: 'ADDRESS_REFUSED' })
        const headers = signatureHeaders({ ...message, at: clock.now() })
        return result(await post(url, { addresses, headers, body: message.body, ca, signal: ended }))
      } catch (error) {
        signal.throwIfAborted()
        return result({ failure: timeout.signal.aborted ? 'TIMEOUT' : failureOf(error) })
      } finally {
        timer.close()
      }
    },
  }
}

function allowedBy({ allowLoopback }: ReceiverRules, { protocol }: URL): (found: LookupAddress) => boolean {
  const ownAddresses = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address))
  return ({ address }) => isAllowedAddress(address, { allowLoopback, protocol, ownAddresses })
}

async function resolve(url: URL, lookupAll: LookupAll): Promise<readonly LookupAddress[]> {
  const host = hostOf(url)
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  if (isLoopbackName(host))
    return [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]
  const addresses = await lookupAll(host)
  if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
  return addresses
}

interface Request {
  addresses: readonly LookupAddress[]
  headers: Record<string, string>
  body: string
  ca: string | undefined
  signal: AbortSignal
}

async function post(url: URL, { addresses, headers, body, ca, signal }: Request): Promise<Partial<WebhookResponse>> {
  const { Client } = await import('undici')
  const pinned: LookupFunction = (_name, { all }, done) => {
    const [first] = addresses
    if (all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
  const client = new Client(url.origin, {
    allowH2: false,
    // An explicit value overrides NODE_TLS_REJECT_UNAUTHORIZED.
    connect: { lookup: pinned, rejectUnauthorized: true, maxCachedSessions: 0, ...(ca !== undefined && { ca }) },
  })
  try {
    const response = await client.request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { 'content-type': 'application/json', 'user-agent': 'Portico-Webhooks', ...headers },
      body,
      signal,
    })
    const retryAfter = response.headers['retry-after']
    return {
      status: response.statusCode,
      body: await readStart(response.body, signal),
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
    }
  } finally {
    await client.destroy()
  }
}

/** A body that breaks off does not change what the status says. One that is too slow does: it holds a connection. */
async function readStart(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= maxShownBytes) break
    }
  } catch {
    signal.throwIfAborted()
  }
  // The store accepts no NUL.
  return Buffer.concat(chunks).subarray(0, maxShownBytes).toString('utf8').replaceAll('\0', '\ufffd')
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

const nameErrors = ['ENOTFOUND', 'ENODATA', 'EAI_AGAIN']

function failureOf(error: unknown): WebhookFailure {
  const code = errorCode(error) ?? ''
  if (nameErrors.includes(code)) return 'NAME_NOT_FOUND'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'TIMEOUT'
  return /^(ERR_TLS|ERR_SSL|CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|EPROTO)/.test(code) ? 'TLS' : 'CONNECTION'
}
