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

const rayOf = (requestId: string): string => requestId.replaceAll(/[^0-9a-f]/gi, '').slice(0, 16) || '0'

/** What the edge proxy would add (interface.md 4.1). */
const edgeFields = ({ edge }: Settings, requestId: string): Record<string, string> =>
  edge
    ? {
        'x-forwarded-proto': 'https',
        'cf-connecting-ip': edge.clientIp ?? '127.0.0.1',
        'cf-ray': edge.ray ?? rayOf(requestId),
        'cf-ipcountry': edge.country ?? 'XX',
      }
    : {}

/** Which way in it is, and the language, which each way names differently. */
const chainFields = ({ accessCode, locale }: Settings, { perimeter }: Chain): Record<string, string> => {
  if (perimeter === 'self') return { 'accept-language': locale }
  return { 'x-locale': locale, ...(perimeter === 'portal' ? { 'x-portal-access-code': accessCode } : {}) }
}

/** fetch's own complaint would pass for a lost answer, and be tried again. The value may be a secret, and is not told. */
const sendable = (id: string, fields: Record<string, string>): Record<string, string> => {
  for (const [name, value] of Object.entries(fields))
    try {
      new Headers([[name, value]])
    } catch {
      throw new TypeError(`${id}: no header field '${name}' can carry what is given for it`)
    }
  return fields
}

/** The header fields of a request by interface.md 4.1, and 4.4 for users/self. A form's type is left to fetch, which knows its boundary. */
export const buildHeaders = (settings: Settings, facts: HeaderFacts): Record<string, string> => {
  const { route, args, requestId, clientHash, accessToken } = facts
  return sendable(route.operation.id, {
    ...chainFields(settings, route.chain),
    ...(route.operation.reply === 'stream' ? {} : { accept: 'application/json' }),
    ...(route.operation.body === 'multipart' ? {} : { 'content-type': 'application/json' }),
    'x-request-id': requestId,
    ...(clientHash === null ? {} : { 'x-client-hash': clientHash }),
    ...edgeFields(settings, requestId),
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
    ...(args.workspaceId === undefined ? {} : { 'x-workspace-id': args.workspaceId }),
    ...Object.fromEntries(Object.entries(args.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  })
}

/**
 * A random UUID (RFC 9562, 5.4). crypto.randomUUID makes one too, but only in a secure context: a page that a development
 * machine serves over http by its address has none.
 */
export const newRequestId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x40)
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
