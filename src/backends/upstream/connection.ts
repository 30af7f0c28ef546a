import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import { createSecureContext } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import { isHttps, type UpstreamConfiguration } from '../../config/index.ts'
import { type Durations, errorCode, Refusal } from '../../kernel/index.ts'
import { Agent as HttpAgent, lookupInTurn as lookup, systemRandomness } from '../../platform/runtime/index.ts'
import { brokenReply, UnreachableRefusal } from './reply.ts'
import { correctReplies } from './reply-socket.ts'

/** Applies if the upstream announces no keep-alive timeout. */
const idleMs = 4_000
/** Stop reusing a connection this long before the announced timeout. */
const idleMarginMs = 2_000

/**
 * A connection closes after its first reply past this age, so that a moved name and new replicas are noticed within a
 * minute. The jitter spreads the reconnections of connections that opened together.
 */
const maxAgeMs = 30_000
const maxJitterMs = 15_000

/** client.ts sets the deadline of each request. */
export function openPool({ url, connections, tls }: UpstreamConfiguration): Pool {
  const connect = buildConnector({ allowH2: false, lookup, ...(tls && readTlsOptions(url, tls)) })
  return spreadAges(
    new Pool(new URL(url).origin, {
      connections,
      clientTtl: maxAgeMs,
      pipelining: 1,
      keepAliveTimeout: idleMs,
      keepAliveTimeoutThreshold: idleMarginMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Over HTTP/1.1, aborting a request closes its connection. Over HTTP/2, it would close only the stream, and later
      // requests would use the same dead connection.
      allowH2: false,
      connect: (options, done) =>
        connect(options, (...connected) => {
          if (connected[1]) correctReplies(connected[1])
          done(...connected)
        }),
    }),
  )
}

/** Node's agent, as http-proxy-middleware requires. Its timeout applies only to idle connections. */
export function openAgent(
  { url, connections, tls }: UpstreamConfiguration,
  durations: Durations,
): HttpAgent | HttpsAgent {
  const idle = { timeout: idleMs, agentKeepAliveTimeoutBuffer: idleMarginMs }
  const options = { keepAlive: true, maxSockets: connections, lookup, ...idle }
  return limitAge(
    isHttps(url) ? new HttpsAgent({ ...options, ...(tls && readTlsOptions(url, tls)) }) : new HttpAgent(options),
    durations,
  )
}

const unreachableCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])
const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
/** The gateway has closed the pool itself. */
const closedCodes = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])

/** For errors before the head of a response. */
export function toConnectionRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const code = errorCode(error) ?? ''
  const unavailable = { retryAfter: 1, internal: `upstream ${code}`, cause: error }
  if (unreachableCodes.has(code)) return new UnreachableRefusal('SYSTEM.UNAVAILABLE', unavailable, true)
  if (closedCodes.has(code)) return new Refusal('SYSTEM.UNAVAILABLE', unavailable)
  const detail = { internal: 'connection failed', cause: error }
  return resetCodes.has(code)
    ? new UnreachableRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', detail, true)
    : brokenReply(detail.internal, error)
}

/** Returns the path of an upstream's base URL without a slash at its end. */
export function basePathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '')
}

/** undici starts the age at `ttl`, and has no option for a jitter. */
function spreadAges(pool: Pool): Pool {
  return pool.on('connect', (_origin, targets) => {
    for (const target of targets)
      if ('ttl' in target && typeof target.ttl === 'number') Object.assign(target, { ttl: target.ttl + jitter() })
  })
}

function jitter(): number {
  return systemRandomness.integer(maxJitterMs)
}

type Tls = NonNullable<UpstreamConfiguration['tls']>

function readTlsOptions(url: string, tls: Tls) {
  const options = {
    ...(tls.caFile && { ca: readTlsFile(url, 'caFile', tls.caFile) }),
    ...(tls.certFile && { cert: readTlsFile(url, 'certFile', tls.certFile) }),
    ...(tls.keyFile && { key: readTlsFile(url, 'keyFile', tls.keyFile) }),
  }
  try {
    createSecureContext(options)
    if (options.ca) assertCertificateAuthority(options.ca)
  } catch (cause) {
    throw new Error(`backends: the tls files of ${url} cannot be used`, { cause })
  }
  return options
}

function readTlsFile(url: string, name: keyof Tls, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error(`backends: tls.${name} of ${url} cannot be read`, { cause })
  }
}

/** Node accepts a file without a certificate and then trusts no server, so only the first call would fail. */
function assertCertificateAuthority(ca: Buffer): void {
  if (!ca.includes('-----BEGIN ')) throw new Error('tls.caFile holds no certificate (PEM)')
  new X509Certificate(ca)
}

/** Node's agent has no maximum age. It emits `free` after a reply, and then does not reuse a destroyed socket. */
function limitAge<A extends HttpAgent>(agent: A, durations: Durations): A {
  const closesAt = new WeakMap<Duplex, number>()
  agent.prependListener('free', (socket: Duplex) => {
    const now = durations.now()
    const at = closesAt.get(socket)
    if (at === undefined) closesAt.set(socket, now + maxAgeMs + jitter())
    else if (now >= at) socket.destroy()
  })
  return agent
}
