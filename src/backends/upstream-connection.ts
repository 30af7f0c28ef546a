import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent as HttpsAgent } from 'node:https'
import { createSecureContext } from 'node:tls'
import { Pool } from 'undici'
import { isHttps, type UpstreamConfiguration } from '../config/index.ts'
import { errorCode, Refusal } from '../kernel/index.ts'
import { Agent as HttpAgent } from '../platform/runtime/index.ts'
import { invalidReply } from './upstream-reply.ts'

type Tls = NonNullable<UpstreamConfiguration['tls']>

const read = (url: string, name: keyof Tls, path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error(`backends: tls.${name} of ${url} cannot be read`, { cause })
  }
}

/** Of a file that holds no authority in PEM Node makes a trust in nobody, which only the first call would tell. */
const demandAuthority = (ca: Buffer): void => {
  if (!ca.includes('-----BEGIN ')) throw new Error('tls.caFile holds no certificate (PEM)')
  new X509Certificate(ca)
}

/** Whom to trust, and what to show where the upstream asks for a client certificate (mTLS). */
const tlsOptions = (url: string, tls: Tls) => {
  const options = {
    ...(tls.caFile && { ca: read(url, 'caFile', tls.caFile) }),
    ...(tls.certFile && { cert: read(url, 'certFile', tls.certFile) }),
    ...(tls.keyFile && { key: read(url, 'keyFile', tls.keyFile) }),
  }
  try {
    createSecureContext(options)
    if (options.ca) demandAuthority(options.ca)
  } catch (cause) {
    throw new Error(`backends: the tls files of ${url} cannot be used`, { cause })
  }
  return options
}

/** How long an idle connection is used again, and how far from the end that a service says of it. */
const idleMs = 4_000
const awayFromEndMs = 2_000

/** A pool of connections for what is answered whole; how long that may take is the exchange's to say (upstream-exchange.ts). */
export const openPool = ({ url, connections, tls }: UpstreamConfiguration): Pool =>
  new Pool(new URL(url).origin, {
    connections,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveTimeoutThreshold: awayFromEndMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    // What is given up takes its connection with it, so that a dead one is left. Of HTTP/2 it would end a stream alone, and all that
    // follows would go to the same dead connection.
    allowH2: false,
    ...(tls && { connect: tlsOptions(url, tls) }),
  })

/**
 * Connections of their own for streams: http-proxy-middleware speaks through Node's agents. To them `timeout` is how long a
 * connection may be idle; on one that is in use it ends nothing.
 */
export const openAgent = ({ url, connections, tls }: UpstreamConfiguration): HttpAgent | HttpsAgent => {
  const idle = { timeout: idleMs, agentKeepAliveTimeoutBuffer: awayFromEndMs }
  const options = { keepAlive: true, maxSockets: connections, ...idle }
  return isHttps(url) ? new HttpsAgent({ ...options, ...(tls && tlsOptions(url, tls)) }) : new HttpAgent(options)
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])

/** Whatever went wrong on the wire, as a refusal: not there, or no proper answer. What is too late has been refused as that. */
export const wireFailure = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  const code = errorCode(error) ?? ''
  if (unreachable.has(code))
    return new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: `upstream ${code}`, cause: error })
  return invalidReply('connection failed', error)
}
