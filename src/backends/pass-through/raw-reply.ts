import type { UpstreamConfiguration } from '../../config/index.ts'
import type { BelowPrefix, Call } from '../../gateway/pipeline/call.ts'
import { hasUnsafeSegment } from '../../gateway/pipeline/paths.ts'
import { StreamReply } from '../../kernel/index.ts'
import type { IncomingMessage } from '../../platform/runtime/index.ts'
import { basePathOf } from '../upstream/connection.ts'
import { invalidReply, unexpectedReply } from '../upstream/reply.ts'
import { headerOf, isRequested, retryAfterOf, toLimitedBody } from '../upstream/stream-reply.ts'

/** Cookies and hop-by-hop headers are never relayed. */
const relayedHeaders = [
  'content-type',
  'content-length',
  'content-language',
  'content-disposition',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'retry-after',
]

/** These concern the connection and the call assertion, not the client. */
const gatewayStatuses = new Set([401, 407, 421, 426])

const redirects = new Set([301, 302, 303, 307, 308])

/**
 * Throws SYSTEM.UNAVAILABLE for 503, and an invalid response for other server errors, statuses that concern the
 * gateway, and bodies that toLimitedBody rejects.
 */
export function toRawReply(
  response: IncomingMessage,
  call: Call,
  requestHeaders: Record<string, string>,
  { url, maxStreamBytes }: UpstreamConfiguration,
): StreamReply {
  const status = response.statusCode ?? 0
  const head = { status, retryAfter: retryAfterOf(response) }
  if (!isRelayed(status, requestHeaders)) throw unexpectedReply(head, `status ${status}`)
  const headers = replyHeaders(response, call, url)
  // The response to a HEAD has the headers of a body that does not follow.
  if (call.below && call.headOnly) return new StreamReply(status, headers, response)
  return new StreamReply(status, headers, toLimitedBody(response, maxStreamBytes))
}

function isRelayed(status: number, requestHeaders: Record<string, string>): boolean {
  const isAllowed = isRequested(status, requestHeaders)
  if (isAllowed !== undefined) return isAllowed
  if (redirects.has(status)) return true
  return (status >= 200 && status < 300) || (status >= 400 && status < 500 && !gatewayStatuses.has(status))
}

function replyHeaders(response: IncomingMessage, { below }: Call, url: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of [...relayedHeaders, ...(below?.responseHeaders ?? [])]) {
    const value = headerOf(response, name)
    if (value !== undefined) headers[name] = value
  }
  if (!redirects.has(response.statusCode ?? 0)) return headers
  const location = headerOf(response, 'location')
  if (!below || location === undefined) throw invalidReply('an unexpected redirect')
  return { ...headers, location: publicLocation(location, url, below) }
}

/**
 * A service knows its own URL or that of the deployment. Outside of the prefix are internal addresses and other sites.
 * The router rejects unsafe segments.
 */
function publicLocation(location: string, url: string, below: BelowPrefix): string {
  const base = new URL(url)
  const basePath = basePathOf(url)
  // A URL encodes characters, but a header contains bytes.
  const encoded = location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
  const target = URL.parse(encoded, new URL(basePath + (below.rest || '/'), base))
  const isPublic = target?.host === below.publicHost && /^https?:$/.test(target.protocol)
  const root = target?.origin === base.origin ? basePath : isPublic ? below.prefix : null
  const isWithin = root !== null && (target?.pathname === root || target?.pathname.startsWith(`${root}/`))
  if (!target || !isWithin || hasUnsafeSegment(target.pathname)) throw invalidReply('a redirect that leaves the prefix')
  return below.prefix + target.pathname.slice(root.length) + target.search + target.hash
}
