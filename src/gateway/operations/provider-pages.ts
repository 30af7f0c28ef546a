import type { Request, RequestHandler, Response } from 'express'
import { type Portal, Refusal } from '../../kernel/index.ts'
import { readUpTo } from '../../platform/http-client.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'
import type { ResolveClient } from '../pipeline/client-address.ts'
import { Headers } from '../pipeline/headers.ts'

interface LogoutNotice {
  portal: Portal
  providerId: string
  logoutToken: string
  clientIp: string
}

export interface ProviderPages {
  portals: readonly Portal[]
  /** The pages to which sign-ins can return. Undefined for an unknown provider. */
  pagesOf(portal: Portal, providerId: string): readonly string[] | undefined
  /** Ends sessions. Rejects with a Refusal. */
  endSessions(notice: LogoutNotice): Promise<unknown>
  resolveClient: ResolveClient
  /** Returns false if it has refused the request. */
  admit(request: Request, response: Response): Promise<boolean>
}

const path = /^\/identity-providers\/([a-z][a-z0-9_]*)\/([a-z0-9][a-z0-9-]{0,31})\/(callback|logout)$/

/** The parameters of RFC 6749, 4.1.2 and RFC 9207. The front end needs no other ones, and texts could deceive a person. */
const forwarded = ['code', 'state', 'iss', 'error'] as const
const maxParameterLength = 4_096
const maxTokenBytes = 65_536

/**
 * Where identity providers send browsers and logout tokens, without the headers of a portal. The callback leads to a page of
 * the front end, with the parameters in the fragment: a fragment is in no Referer, no log and no request.
 */
export function createProviderPages(ports: ProviderPages): RequestHandler {
  const headers = buildSecurityHeaders()
  const serve = async (request: Request, response: Response): Promise<boolean> => {
    const [pathname = '', query = ''] = request.url.split('?', 2)
    const [, name = '', providerId = '', page] = path.exec(pathname) ?? []
    const portal = ports.portals.find((each) => each.toLowerCase() === name)
    const pages = portal && ports.pagesOf(portal, providerId)
    if (!portal || !pages) return false
    if (!(await ports.admit(request, response))) return true
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (page === 'callback' && isRead) {
      const location = locationOf(pages, new URLSearchParams(query))
      closeIfBodyUnread(request, response)
      response.writeHead(303, { ...headers, location, 'content-length': 0 }).end()
      return true
    }
    if (page === 'logout' && request.method === 'POST') {
      await endSessions(ports, headers, { portal, providerId, request, response })
      return true
    }
    closeIfBodyUnread(request, response)
    response
      .writeHead(405, { ...headers, allow: page === 'callback' ? 'GET, HEAD' : 'POST', 'content-length': 0 })
      .end()
    return true
  }
  return (request, response, next) => {
    serve(request, response).then((isServed) => (isServed ? undefined : next()), next)
  }
}

/** The state ends with the number of the page. The page checks the whole state. */
function locationOf(pages: readonly string[], query: URLSearchParams): string {
  const index = /\.(\d{1,2})$/.exec(query.get('state') ?? '')?.[1] ?? '0'
  const page = pages[Number(index)] ?? pages[0]
  const parameters = new URLSearchParams()
  for (const name of forwarded) {
    const value = query.get(name)
    if (value !== null && value.length <= maxParameterLength) parameters.set(name, value)
  }
  return `${page}#${parameters}`
}

interface Notice {
  portal: Portal
  providerId: string
  request: Request
  response: Response
}

/** OpenID Connect Back-Channel Logout 1.0, section 2.8. */
async function endSessions(
  ports: ProviderPages,
  headers: Record<string, string>,
  { portal, providerId, request, response }: Notice,
): Promise<void> {
  const reply = (status: number, body: string | null) => {
    closeIfBodyUnread(request, response)
    const type = body === null ? {} : { 'content-type': 'application/json' }
    response.writeHead(status, { ...headers, ...type, 'content-length': body?.length ?? 0 }).end(body ?? undefined)
  }
  const logoutToken = await readToken(request)
  if (logoutToken === null) return reply(400, JSON.stringify({ error: 'invalid_request' }))
  try {
    const facts = {
      headers: new Headers(request),
      peer: request.socket.remoteAddress ?? '',
      edgeTrusted: false,
      clientIp: '',
    }
    ports.resolveClient(facts, portal)
    await ports.endSessions({ portal, providerId, logoutToken, clientIp: facts.clientIp })
    reply(200, null)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'AUTH.PROVIDER_REFUSED') return reply(400, JSON.stringify({ error: 'invalid_request' }))
    reply(503, JSON.stringify({ error: 'temporarily_unavailable' }))
  }
}

async function readToken(request: Request): Promise<string | null> {
  const type = request.headers['content-type'] ?? ''
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded')) return null
  try {
    // A destroyed request could get no reply.
    const chunks = request.iterator({ destroyOnReturn: false })
    const body = await readUpTo(chunks, maxTokenBytes, () => new Error('too large'))
    return new URLSearchParams(body.toString('utf8')).get('logout_token')
  } catch {
    return null
  }
}
