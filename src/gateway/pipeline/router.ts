import findMyWay from 'find-my-way'
import { type ChainId, chains, invalid, type Operation, Refusal } from '../../kernel/index.ts'

export interface RouteMatch {
  operation: Operation
  chainId: ChainId
  params: Record<string, string>
}

/** Returns the operation of a request. Throws ROUTE.NOT_FOUND, ROUTE.METHOD_NOT_ALLOWED, or a validation refusal. */
export type Router = (method: string, path: string) => RouteMatch

const noParams: Record<string, string> = Object.freeze({})

/** Matches dot segments, empty segments, backslashes and fragments. Such paths are rejected and never rewritten. */
const uncanonical = /\/\/|\/\.{1,2}(\/|$)|\\|#|[^\x21-\x7e]/
/**
 * Matches escapes of letters, digits and `-._~` (RFC 3986, 6.2.2.2). They are a second spelling of a path. find-my-way
 * would match them, and an upstream could decode them to a dot segment.
 */
const needlessEscape = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][\dA]|5F|7E)/i

/**
 * Whether the escapes of a path can be decoded. The result is compared, because the bundler drops a call whose result
 * is unused, even if the call can throw.
 */
const isDecodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}

type Routes = findMyWay.Instance<findMyWay.HTTPVersion.V1>

const find = (routes: Routes, method: 'GET' | 'POST', path: string): RouteMatch | undefined => {
  const found = routes.find(method, path)
  if (!found) return undefined
  const { operation, chainId }: { operation: Operation; chainId: ChainId } = found.store
  const params: Record<string, string> = {}
  for (const [name, value] of Object.entries(found.params)) {
    // find-my-way also matches an empty parameter, for example with a trailing slash.
    if (!value) return undefined
    params[name] = value
  }
  return { operation, chainId, params }
}

const assertMethodAllowed = (routes: Routes, method: string, path: string): void => {
  const methods = (['GET', 'POST'] as const).filter((other) => find(routes, other, path))
  if (methods.length === 0) return
  const allow = methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ')
  throw new Refusal('ROUTE.METHOD_NOT_ALLOWED', { headers: { allow }, internal: `${method} not allowed` })
}

/** Returns the router over all operations. HEAD matches the operation of GET. */
export function createRouter(operations: readonly Operation[]): Router {
  // Paths without parameters are looked up in a map, which is faster.
  const staticRoutes = new Map<string, RouteMatch>()
  // The length of a parameter is not limited here: the operation rejects ids that are too long, and Node limits the
  // request line.
  const routes = findMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const operation of operations) {
    for (const chainId of operation.chains) {
      const path = chains[chainId].prefix + operation.path.replace(/\{(\w+)\}/g, ':$1')
      routes.on(operation.method, path, () => undefined, { operation, chainId })
      if (!path.includes(':')) staticRoutes.set(`${operation.method} ${path}`, { operation, chainId, params: noParams })
    }
  }
  return (method, path) => {
    const known = staticRoutes.get(`${method} ${path}`)
    if (known) return known
    if (uncanonical.test(path) || needlessEscape.test(path)) throw new Refusal('ROUTE.NOT_FOUND')
    if (path.includes('%') && !isDecodable(path)) throw invalid('path', 'undecodable path')
    const wanted = method === 'HEAD' ? 'GET' : method
    const match = wanted === 'GET' || wanted === 'POST' ? find(routes, wanted, path) : undefined
    if (match) return match
    assertMethodAllowed(routes, method, path)
    throw new Refusal('ROUTE.NOT_FOUND')
  }
}
