import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { credentialProtocol, fallbackProtocol } from '../../contract/header-values.ts'
import { headers } from '../../contract/headers.ts'
import { invalid } from '../../kernel/index.ts'
import type { ReceivedHeaders } from '../pipeline/headers.ts'

/** RFC 6455, section 4.2.1. */
export interface Handshake {
  key: string
  /** The client's order of preference. */
  protocols: readonly string[]
  /** The gateway selects the fallback protocol if the upstream selects none. */
  offersFallback: boolean
  extensions: string | null
}

const keyPattern = /^[A-Za-z0-9+/]{22}==$/

/** Printable ASCII. The upstream parses it. */
const extensionsPattern = /^[\t -~]{1,1024}$/

/** A token (RFC 9110, section 5.6.2). */
const tokenPattern = /^[\w!#$%&'*+.^`|~-]+$/

/** Browsers cannot set headers on a WebSocket. The edge sets the other headers. */
const credentialNames: ReadonlySet<string> = new Set([
  headers.portalAccessCode.field,
  headers.requestId.field,
  headers.clientHash.field,
  headers.locale.field,
  headers.workspaceId.field,
  headers.dpop.field,
  'authorization',
])

const protocolField = headers.socketProtocol.field

/**
 * Any other upgrade stays an ordinary request. A body is refused, because parsers disagree about where the frames after
 * it begin.
 */
export function isHandshake({ method, httpVersion, headers: received }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    received.upgrade?.toLowerCase() === 'websocket' &&
    received['sec-websocket-version'] === '13' &&
    keyPattern.test(received['sec-websocket-key'] ?? '') &&
    received['content-length'] === undefined &&
    received['transfer-encoding'] === undefined &&
    received.expect === undefined
  )
}

/** RFC 6455, section 4.2.2. SHA-1 protects nothing here. */
export function acceptKey(key: string): string {
  return hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
}

/** A header in both the request and its subprotocols counts as repeated. Throws VALIDATION.INVALID_PARAMETER. */
export function readHandshake(request: IncomingMessage): { handshake: Handshake; received: ReceivedHeaders } {
  const offered = parseProtocols(textOf(request.headers[protocolField]))
  const extensions = request.headers['sec-websocket-extensions'] ?? null
  if (extensions !== null && !extensionsPattern.test(extensions))
    throw invalid('sec-websocket-extensions', 'malformed extensions')
  const carried = offered.map(readCredential)
  const credentials = carried.filter((each) => each !== undefined)
  const offersFallback = offered.includes(fallbackProtocol)
  // A browser fails the connection if the server selects none of its protocols, and a credential must not be selected.
  if (credentials.length > 0 && !offersFallback) throw refuseProtocol(`${fallbackProtocol} must be offered, too`)
  const handshake = {
    key: request.headers['sec-websocket-key'] ?? '',
    protocols: offered.filter((each, at) => !carried[at] && each !== fallbackProtocol),
    offersFallback,
    extensions,
  }
  const received = {
    headers: { ...request.headers, ...Object.fromEntries(credentials) },
    rawHeaders: [...request.rawHeaders, ...credentials.flat()],
  }
  return { handshake, received }
}

function parseProtocols(value: string | undefined): string[] {
  if (value === undefined) return []
  const protocols = value.split(',').map((each) => each.trim())
  if (!protocols.every((each) => tokenPattern.test(each))) throw refuseProtocol('malformed subprotocol')
  if (new Set(protocols).size < protocols.length) throw refuseProtocol('repeated subprotocol')
  return protocols
}

function refuseProtocol(internal: string) {
  return invalid(protocolField, internal)
}

/** Node joins repeated headers of these names to one text. */
function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/** Undefined for a protocol of the application. */
function readCredential(protocol: string): [name: string, value: string] | undefined {
  if (!protocol.startsWith(credentialProtocol.prefix)) return undefined
  const credential = credentialProtocol.parse(protocol)
  if (!credential) throw refuseProtocol('malformed header in a subprotocol')
  if (!credentialNames.has(credential[0])) throw refuseProtocol('a subprotocol cannot carry this header')
  return credential
}
