import findMyWay from 'find-my-way'
import {
  chains,
  invalid,
  type Method,
  methods,
  mountChain,
  type Operation,
  type PortalMount,
  Refusal,
  type ServedChain,
} from '../../kernel/index.ts'
import type { BelowPrefix } from './call.ts'
import { hasUnsafeSegment } from './paths.ts'

export interface RouteMatch extends ServedChain {
  operation: Operation
  params: Record<string, string>
  below?: BelowPrefix
}

export interface PrefixRoute extends Omit<BelowPrefix, 'rest'>, ServedChain {
  /** Stands for every request below the prefix. */
  operation: Operation
  methods: ReadonlySet<string>
}

/** A portal that the configuration declares, and the operations that it offers. */
export interface AdditionalPortal extends PortalMount {
  offers(operation: Operation): boolean
}

/** Throws ROUTE.NOT_FOUND, ROUTE.METHOD_NOT_ALLOWED, or a validation refusal. */
export type Router = (method: string, path: string) => RouteMatch

const noParams: Record<string, string> = Object.freeze({})

/** Such paths are rejected and never rewritten. */
const uncanonical = /\/\/|\/\.{1,2}(\/|$)|\\|#|[^\x21-\x7e]/
/**
 * Escapes of letters, digits and `-._~` are a second spelling of a path (RFC 3986, 6.2.2.2). find-my-way would accept
 * them, and an upstream could decode them to a dot segment.
 */
const needlessEscape = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][\dA]|5F|7E)/i

/** HEAD matches the operation of GET. No prefix contains the path of an operation. */
export function createRouter(
  operations: readonly Operation[],
  prefixes: readonly PrefixRoute[] = [],
  additional: readonly AdditionalPortal[] = [],
): Router {
  const offered = prefixes.filter(({ chain, operation }) =>
    additional.every((portal) => portal.portal !== chain.portal || portal.offers(operation)),
  )
  // A map is faster for paths without parameters.
  const staticRoutes = new Map<string, RouteMatch>()
  // The operation rejects ids that are too long, and Node limits the request line.
  const routes = findMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const operation of operations)
    for (const served of listChains(operation, additional)) {
      const path = served.chain.prefix + operation.path.replace(/\{(\w+)\}/g, ':$1')
      routes.on(operation.method, path, () => undefined, { operation, ...served })
      if (!path.includes(':'))
        staticRoutes.set(`${operation.method} ${path}`, { operation, ...served, params: noParams })
    }
  return (method, path) => {
    const fixed = staticRoutes.get(`${method} ${path}`)
    if (fixed) return fixed
    if (uncanonical.test(path) || needlessEscape.test(path)) throw new Refusal('ROUTE.NOT_FOUND')
    if (path.includes('%') && !isDecodable(path)) throw invalid('path', 'undecodable path')
    const wanted = method === 'HEAD' ? 'GET' : method
    const known = methods.find((each) => each === wanted)
    const match = known && find(routes, known, path)
    if (match) return match
    const below = findPrefix(offered, method, path)
    if (below) return below
    assertMethodAllowed(routes, method, path)
    throw new Refusal('ROUTE.NOT_FOUND')
  }
}

function listChains(operation: Operation, additional: readonly AdditionalPortal[]): ServedChain[] {
  const mounts = additional.filter((portal) => portal.offers(operation))
  return operation.chains.flatMap((chainId): ServedChain[] => [
    { chainId, chain: chains[chainId] },
    ...mounts
      .map((mount) => ({ chainId, chain: mountChain(chains[chainId], mount) }))
      .filter(({ chain }) => chain.prefix !== chains[chainId].prefix),
  ])
}

/** Uses the result, because the bundler drops a call whose result is unused, even if it can throw. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}

type Routes = findMyWay.Instance<findMyWay.HTTPVersion.V1>

function find(routes: Routes, method: Method, path: string): RouteMatch | undefined {
  const found = routes.find(method, path)
  if (!found) return undefined
  const { operation, chainId, chain }: ServedChain & { operation: Operation } = found.store
  const params: Record<string, string> = {}
  for (const [name, value] of Object.entries(found.params)) {
    // find-my-way also matches an empty parameter, for example with a trailing slash.
    if (!value) return undefined
    params[name] = value
  }
  return { operation, chainId, chain, params }
}

function findPrefix(prefixes: readonly PrefixRoute[], method: string, path: string): RouteMatch | undefined {
  const route = prefixes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
  if (!route) return undefined
  if (hasUnsafeSegment(path)) throw new Refusal('ROUTE.NOT_FOUND')
  const { operation, chainId, chain, methods, prefix, requestHeaders, responseHeaders, publicHost } = route
  if (!methods.has(method)) {
    const headers = { allow: [...methods].join(', ') }
    throw new Refusal('ROUTE.METHOD_NOT_ALLOWED', { headers, internal: `${method} not allowed` })
  }
  const below = { prefix, rest: path.slice(prefix.length), requestHeaders, responseHeaders, publicHost }
  return { operation, chainId, chain, params: noParams, below }
}

function assertMethodAllowed(routes: Routes, method: string, path: string): void {
  const found = methods.flatMap((other) => {
    const match = find(routes, other, path)
    return match ? [{ other, parameters: Object.keys(match.params).length }] : []
  })
  if (found.length === 0) return
  // A fixed path such as `/command/create` also matches the routes with a parameter in its place.
  const fewest = Math.min(...found.map(({ parameters }) => parameters))
  const closest = found.filter(({ parameters }) => parameters === fewest).map(({ other }) => other)
  const allow = closest.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ')
  throw new Refusal('ROUTE.METHOD_NOT_ALLOWED', { headers: { allow }, internal: `${method} not allowed` })
}
