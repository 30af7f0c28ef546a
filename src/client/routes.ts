import { namedOperations } from '../contract/index.ts'
import { type Chain, type ChainId, chains, type Operation, operationsIn, type Portal } from '../kernel/index.ts'

/** An operation and the chain on which this client calls it. */
export interface Route {
  /** The export name in the contract, which is the method's name. */
  name: string
  operation: Operation
  chain: Chain
}

/** The chains of each portal's client in order of preference. */
export const portalChains = {
  CONSUMER: ['consumer', 'self'],
  SYSTEM: ['system', 'self'],
} as const satisfies Record<Portal, readonly ChainId[]>

/**
 * Returns every operation of these chains, on the first chain that serves it. `added` are contract modules in addition
 * to Portico's own. Throws TypeError if one of them has the name of another operation.
 */
export const listRoutes = (preference: readonly ChainId[], added: readonly object[] = []): Route[] => {
  const all = [...namedOperations, ...added.flatMap(operationsIn)]
  const names = new Set<string>()
  for (const [name] of all) {
    if (names.has(name)) throw new TypeError(`contract: two operations have the name ${name}`)
    names.add(name)
  }
  return all.flatMap(([name, operation]): Route[] => {
    const chainId = preference.find((each) => operation.chains.includes(each))
    return chainId ? [{ name, operation, chain: chains[chainId] }] : []
  })
}

/**
 * Whether a segment is empty or a dot segment. It would change the path, and the request would reach another operation.
 */
const isUnsafeSegment = (param: string): boolean => /^\.{0,2}$/.test(param)

/**
 * Returns the path of a call below the base URL, with percent-encoded parameters. Throws TypeError for an unsafe
 * parameter.
 */
export const buildPath = ({ operation, chain }: Route, params: Record<string, string> = {}): string =>
  chain.prefix +
  operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const param = params[name] ?? ''
    if (isUnsafeSegment(param)) throw new TypeError(`${operation.id}: '${param}' is not a valid ${name}`)
    return encodeURIComponent(param)
  })

/**
 * Returns the query string with its question mark, or an empty text without parameters. Undefined parameters are
 * omitted.
 */
export const buildQuery = (query: object = {}): string => {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined)
  return parameters.length === 0
    ? ''
    : `?${new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]))}`
}
