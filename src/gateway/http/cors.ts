import cors from 'cors'
import { headers } from '../../contract/headers.ts'
import { type FindChain, portalOfChain } from '../../kernel/index.ts'
import type { IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'
import type { AllowedOrigins } from '../pipeline/origins.ts'

/** Browsers cache a preflight for at most two hours. */
const preflightMaxAge = 7_200

/** Headers of responses that scripts can read. */
const exposed = [
  headers.requestId.name,
  headers.idempotencyKey.name,
  'X-Portico-Fields',
  'X-Portico-Hint',
  'X-Oldest-Cursor',
  'X-Total-Estimated',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Content-Disposition',
  'Content-Range',
  'ETag',
]

export interface Cors {
  /** Sets the headers of the response, including those of refusals. */
  setHeaders(request: IncomingMessage, response: ServerResponse): void
  /** Whether the request is a preflight from an allowed origin. */
  isPreflight(request: IncomingMessage): boolean
  /** Responds to a preflight. */
  respond(request: IncomingMessage, response: ServerResponse): void
}

/**
 * Cross-Origin Resource Sharing (WHATWG Fetch) for the pages in `portals.<portal>.origins`. Only portals have pages. A request
 * with a token is sent without credentials, so only cookie mode gets `Access-Control-Allow-Credentials`.
 */
export function createCors(origins: Pick<AllowedOrigins, 'allows'>, findChain: FindChain): Cors {
  const isAllowed = (request: IncomingMessage): boolean => {
    const { origin } = request.headers
    if (origin === undefined) return false
    const [path = ''] = (request.url ?? '').split('?', 1)
    const { chain } = findChain(path)
    return chain.perimeter !== 'machine' && origins.allows(origin, portalOfChain(chain))
  }
  // The middleware compares nothing, because `isAllowed` has.
  const common = { origin: true, exposedHeaders: exposed, maxAge: preflightMaxAge }
  const [withCookies, withoutCookies] = [cors({ ...common, credentials: true }), cors(common)]
  const apply = (request: IncomingMessage, response: ServerResponse): void => {
    const setHeaders = hasToken(request) ? withoutCookies : withCookies
    setHeaders(request, response, () => undefined)
  }
  return {
    setHeaders: (request, response) => {
      if (isAllowed(request)) apply(request, response)
    },
    isPreflight: (request) =>
      request.method === 'OPTIONS' &&
      request.headers['access-control-request-method'] !== undefined &&
      isAllowed(request),
    respond: apply,
  }
}

function hasToken({ headers: received }: IncomingMessage): boolean {
  const requested = received['access-control-request-headers']?.toLowerCase().split(',') ?? []
  return received.authorization !== undefined || requested.some((name) => name.trim() === 'authorization')
}
