import type { Chain } from '../kernel/index.ts'
import type { CallOptions } from './operation-types.ts'
import type { Settings } from './options.ts'
import type { Route } from './routes.ts'

export interface HeaderFacts {
  route: Route
  args: CallOptions
  requestId: string
  clientHash: string | null
  accessToken: string | null
}

/**
 * Returns a random UUID (RFC 9562, 5.4). crypto.randomUUID needs a secure context, and a page such as
 * http://192.168.0.10 is none.
 */
export const newRequestId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x40)
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const rayOf = (requestId: string): string => requestId.replaceAll(/[^0-9a-f]/gi, '').slice(0, 16) || '0'

/** Returns the headers that the edge proxy would add. */
const edgeHeaders = ({ edge }: Settings, requestId: string): Record<string, string> =>
  edge
    ? {
        'x-forwarded-proto': 'https',
        'cf-connecting-ip': edge.clientIp ?? '127.0.0.1',
        'cf-ray': edge.ray ?? rayOf(requestId),
        'cf-ipcountry': edge.country ?? 'XX',
      }
    : {}

/** Returns the headers for access code and language. The language has another header on some chains. */
const chainHeaders = ({ accessCode, locale }: Settings, { perimeter }: Chain): Record<string, string> => {
  if (perimeter === 'self') return { 'accept-language': locale }
  return { 'x-locale': locale, ...(perimeter === 'portal' ? { 'x-portal-access-code': accessCode } : {}) }
}

/** Throws a TypeError for an invalid value. The error of fetch would look like a lost response and would be retried. */
const assertHeaders = (id: string, fields: Record<string, string>): Record<string, string> => {
  for (const [name, value] of Object.entries(fields))
    try {
      new Headers([[name, value]])
    } catch {
      // Name only the header, because its value can be a secret.
      throw new TypeError(`${id}: the value of header '${name}' is invalid`)
    }
  return fields
}

/** Returns the request headers of a call. fetch sets the content type of a form, because it chooses the boundary. */
export const buildHeaders = (settings: Settings, facts: HeaderFacts): Record<string, string> => {
  const { route, args, requestId, clientHash, accessToken } = facts
  return assertHeaders(route.operation.id, {
    ...chainHeaders(settings, route.chain),
    ...(route.operation.reply === 'stream' ? {} : { accept: 'application/json' }),
    ...(route.operation.body === 'multipart' ? {} : { 'content-type': 'application/json' }),
    'x-request-id': requestId,
    ...(clientHash === null ? {} : { 'x-client-hash': clientHash }),
    ...edgeHeaders(settings, requestId),
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
    ...(args.workspaceId === undefined ? {} : { 'x-workspace-id': args.workspaceId }),
    ...Object.fromEntries(Object.entries(args.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  })
}
