import findMyWay from 'find-my-way'
import { type ChainId, chains, invalid, type Operation, Refusal } from '../kernel/index.ts'

export interface Match {
  operation: Operation
  chainId: ChainId
  params: Record<string, string>
}

const noParams: Record<string, string> = Object.freeze({})

export type Router = (method: string, path: string) => Match

/** Dot segments, empty segments, backslashes and fragments: a path that is not canonical is refused, never rewritten. */
const uncanonical = /\/\/|\/\.{1,2}(\/|$)|\\|#|[^\x21-\x7e]/
/**
 * Letters, digits and `-._~` written as escapes (RFC 3986, 6.2.2.2): a second spelling of a path that find-my-way would
 * take for the first, and dots that would be a dot segment again on their way to an upstream.
 */
const needlessEscape = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][\dA]|5F|7E)/i

/** What is decoded is looked at: the bundler leaves out a call whose answer nobody takes, and what it throws with it. */
const decodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}

/** Finds the operation of a request over the whole catalogue. HEAD is answered as its GET. */
export const createRouter = (catalogue: readonly Operation[]): Router => {
  // A path without parameters is its own name; all others are the router's to find.
  const fixed = new Map<string, Match>()
  // An id of any length is one that nothing has: it is for its operation to say so. Node bounds the request line.
  const routes = findMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const operation of catalogue) {
    for (const chainId of operation.chains) {
      const path = chains[chainId].prefix + operation.path.replace(/\{(\w+)\}/g, ':$1')
      routes.on(operation.method, path, () => undefined, { operation, chainId })
      if (!path.includes(':')) fixed.set(`${operation.method} ${path}`, { operation, chainId, params: noParams })
    }
  }
  const find = (method: 'GET' | 'POST', path: string): Match | undefined => {
    const found = routes.find(method, path)
    if (!found) return undefined
    const { operation, chainId }: { operation: Operation; chainId: ChainId } = found.store
    const params: Record<string, string> = {}
    for (const [name, value] of Object.entries(found.params)) {
      // find-my-way takes nothing for a value: a slash at the end would name what has no name.
      if (!value) return undefined
      params[name] = value
    }
    return { operation, chainId, params }
  }
  return (method, path) => {
    const itself = fixed.get(`${method} ${path}`)
    if (itself) return itself
    if (!uncanonical.test(path) && !needlessEscape.test(path)) {
      if (path.includes('%') && !decodable(path)) throw invalid('path', 'undecodable path')
      const wanted = method === 'HEAD' ? 'GET' : method
      const match = wanted === 'GET' || wanted === 'POST' ? find(wanted, path) : undefined
      if (match) return match
      const allowed = (['GET', 'POST'] as const).filter((other) => find(other, path))
      if (allowed.length > 0) {
        const allow = allowed.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ')
        throw new Refusal('ROUTE.METHOD_NOT_ALLOWED', { headers: { allow }, internal: `${method} not allowed` })
      }
    }
    throw new Refusal('ROUTE.NOT_FOUND')
  }
}
