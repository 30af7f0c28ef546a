import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent as HttpsAgent } from 'node:https'
import { createSecureContext } from 'node:tls'
import { Pool } from 'undici'
import { isHttps, type UpstreamConfiguration } from '../../config/index.ts'
import { errorCode, Refusal } from '../../kernel/index.ts'
import { Agent as HttpAgent } from '../../platform/runtime/index.ts'
import { brokenReply, UnreachableRefusal } from './reply.ts'

type Tls = NonNullable<UpstreamConfiguration['tls']>

const readTlsFile = (url: string, name: keyof Tls, path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error(`backends: tls.${name} of ${url} cannot be read`, { cause })
  }
}

/** Node accepts a file without a certificate and then trusts no server, so only the first call would fail. */
const assertCertificateAuthority = (ca: Buffer): void => {
  if (!ca.includes('-----BEGIN ')) throw new Error('tls.caFile holds no certificate (PEM)')
  new X509Certificate(ca)
}

const readTlsOptions = (url: string, tls: Tls) => {
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

/** Applies if the upstream announces no keep-alive timeout. */
const idleMs = 4_000
/** Stop reusing a connection this long before the announced timeout. */
const idleMarginMs = 2_000

/** client.ts sets the deadline of each request. */
export const openPool = ({ url, connections, tls }: UpstreamConfiguration): Pool =>
  new Pool(new URL(url).origin, {
    connections,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveTimeoutThreshold: idleMarginMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    // Over HTTP/1.1, aborting a request closes its connection. Over HTTP/2, it would close only the stream, and later
    // requests would use the same dead connection.
    allowH2: false,
    ...(tls && { connect: readTlsOptions(url, tls) }),
  })

/** Node's agent, as http-proxy-middleware requires. Its timeout applies only to idle connections. */
export const openAgent = ({ url, connections, tls }: UpstreamConfiguration): HttpAgent | HttpsAgent => {
  const idle = { timeout: idleMs, agentKeepAliveTimeoutBuffer: idleMarginMs }
  const options = { keepAlive: true, maxSockets: connections, ...idle }
  return isHttps(url) ? new HttpsAgent({ ...options, ...(tls && readTlsOptions(url, tls)) }) : new HttpAgent(options)
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
export const toConnectionRefusal = (error: unknown): Refusal => {
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
export const basePathOf = (url: string): string => new URL(url).pathname.replace(/\/$/, '')
