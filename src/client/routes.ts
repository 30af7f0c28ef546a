import { namedOperations } from '../contract/index.ts'
import { type Chain, type ChainId, chains, type Operation, type Portal } from '../kernel/index.ts'

/** An operation by the way that this client takes to it. */
export interface Route {
  /** The export name in the contract, which is the method's. */
  name: string
  operation: Operation
  chain: Chain
}

/** A portal's own chain comes first; `self` has what no portal's chain has. */
export const portalChains = {
  CONSUMER: ['consumer', 'self'],
  SYSTEM: ['system', 'self'],
} as const satisfies Record<Portal, readonly ChainId[]>

/** Every operation that one of these chains serves, by the first that does. */
export const listRoutes = (preference: readonly ChainId[]): Route[] =>
  namedOperations.flatMap(([name, operation]): Route[] => {
    const chainId = preference.find((each) => operation.chains.includes(each))
    return chainId ? [{ name, operation, chain: chains[chainId] }] : []
  })

/** What a URL leaves out or goes up by: the call would be another operation's. */
const isNoSegment = (param: string): boolean => /^\.{0,2}$/.test(param)

/** The path of a call below the base URL; parameters are percent-encoded. Throws where one is no part of a path. */
export const buildPath = ({ operation, chain }: Route, params: Record<string, string> = {}): string =>
  chain.prefix +
  operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const param = params[name] ?? ''
    if (isNoSegment(param)) throw new TypeError(`${operation.id}: '${param}' is no ${name}`)
    return encodeURIComponent(param)
  })

/** The query string with its question mark, empty without parameters; an undefined parameter is left out. */
export const buildQuery = (query: object = {}): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}
