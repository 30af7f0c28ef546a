import {
  fallbackProtocol,
  formatCredential,
  formatIdempotencyKey,
  parseIdempotencyKey,
} from '../contract/header-values.ts'
import type { Chain } from '../kernel/index.ts'
import type { CallOptions } from './operation-types.ts'
import type { Settings } from './options.ts'
import type { CallableOperation } from './portal/operation.ts'
import type { Route } from './routes.ts'
import type { RequestSigner } from './transport.ts'

export interface HeaderFacts {
  route: Route
  args: CallOptions
  requestId: string
  clientHash: string | null
  accessToken: string | null
}

/** A random UUID (RFC 9562, 5.4). Pages such as http://192.168.0.10 lack crypto.randomUUID. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x40)
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** fetch sets the content type of a form, because it chooses the boundary. */
export function buildHeaders(settings: Settings, facts: HeaderFacts): Record<string, string> {
  const { route, args, requestId, clientHash, accessToken } = facts
  return assertHeaders(route.operation.id, {
    ...chainHeaders(settings, route.chain),
    ...acceptHeader(route.operation),
    ...(route.operation.body === 'multipart' || route.operation.body === 'raw'
      ? {}
      : { 'content-type': 'application/json' }),
    'x-request-id': requestId,
    // The same value, so that a gateway behind a proxy that drops the key or replaces the id still has the other.
    ...(route.operation.policy.idempotent ? { 'idempotency-key': formatIdempotencyKey(requestId) } : {}),
    ...(clientHash === null ? {} : { 'x-client-hash': clientHash }),
    ...edgeHeaders(settings, requestId),
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
    ...(args.workspaceId === undefined ? {} : { 'x-workspace-id': args.workspaceId }),
    ...Object.fromEntries(Object.entries(args.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  })
}

const edgeGuide = 'see docs/guides/tls-and-edges.md#keep-x-request-id'

export const replacedId = `a proxy in front of the gateway replaces X-Request-Id (${edgeGuide})`
export const droppedKey = `a proxy in front of the gateway drops Idempotency-Key (${edgeGuide})`

export type SentHeaders = Readonly<Record<string, string>>

/** Whether a response has another id than its request. Browsers hide the header unless the edge exposes it. */
export function isReplaced({ 'x-request-id': sent = '' }: SentHeaders, { headers }: Response): boolean {
  const echoed = headers.get('x-request-id')
  // Some edges add a second header with their own id.
  return echoed !== null && !echoed.split(', ').includes(sent)
}

/** Whether a response repeats the key of its request: the gateway identifies the command by it. */
export function isKeyRead({ 'idempotency-key': sent = '' }: SentHeaders, { headers }: Response): boolean {
  const key = parseIdempotencyKey(sent)
  return key !== undefined && key === parseIdempotencyKey(headers.get('idempotency-key') ?? '')
}

/** Options of a WebSocket handshake. */
export interface SocketOptions {
  /** X-Workspace-Id. */
  workspaceId?: string
  /** The URL of the WebSocket, which a client with `dpop` needs for its proof. */
  url?: string
  /** The application's subprotocols, in order of preference. */
  protocols?: readonly string[]
}

interface SocketFacts {
  settings: Settings
  part: {
    tokens: { current(): Promise<string | null> }
    clientHash(): Promise<string>
    signer?: RequestSigner | undefined
  }
  workspaceId: string | undefined
}

/**
 * Returns subprotocols with the headers and the token of a handshake (docs/guides/websockets.md). Call it for each handshake.
 * Never log them.
 */
export async function buildSocketProtocols(
  { settings, part, workspaceId: ownWorkspace }: SocketFacts,
  { workspaceId = ownWorkspace, protocols = [], url }: SocketOptions = {},
): Promise<string[]> {
  const { accessCode, locale } = settings
  const accessToken = await part.tokens.current()
  const headers = {
    'x-portal-access-code': accessCode,
    'x-request-id': newRequestId(),
    'x-client-hash': await part.clientHash(),
    'x-locale': locale,
    ...(workspaceId === undefined ? {} : { 'x-workspace-id': workspaceId }),
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
  }
  if (part.signer && url === undefined) throw new TypeError('url: pass the URL of the WebSocket, because of dpop')
  const signed = part.signer ? await part.signer.sign({ method: 'GET', url: url ?? '', headers }) : headers
  const carried = Object.entries(signed).map(([name, value]) => formatCredential(name, value))
  return [...protocols, fallbackProtocol, ...carried]
}

/** Throws a TypeError. fetch's own error would look like a lost response and cause retries. */
function assertHeaders(id: string, fields: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(fields))
    try {
      new Headers([[name, value]])
    } catch {
      // The value may be secret, so the message omits it.
      throw new TypeError(`${id}: the value of header '${name}' is invalid`)
    }
  return fields
}

/** The language header depends on the chain. */
function chainHeaders({ accessCode, locale }: Settings, { perimeter }: Chain): Record<string, string> {
  if (perimeter === 'self') return { 'accept-language': locale }
  return { 'x-locale': locale, ...(perimeter === 'portal' ? { 'x-portal-access-code': accessCode } : {}) }
}

function acceptHeader({ reply }: CallableOperation): Record<string, string> {
  if (reply === 'events') return { accept: 'text/event-stream' }
  return typeof reply === 'string' ? {} : { accept: 'application/json' }
}

function edgeHeaders({ edge }: Settings, requestId: string): Record<string, string> {
  return edge
    ? {
        'x-forwarded-proto': 'https',
        'cf-connecting-ip': edge.clientIp ?? '127.0.0.1',
        'cf-ray': edge.ray ?? rayOf(requestId),
        'cf-ipcountry': edge.country ?? 'XX',
      }
    : {}
}

function rayOf(requestId: string): string {
  return requestId.replaceAll(/[^0-9a-f]/gi, '').slice(0, 16) || '0'
}
