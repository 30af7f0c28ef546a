import { resources } from '../contract/resources.ts'
import {
  type Chain,
  type ChainId,
  chains,
  type Operation,
  operationsIn,
  type Portal,
  paramNameOn,
} from '../kernel/index.ts'

export interface Route {
  /** Also the method's name. */
  name: string
  operation: Operation
  chain: Chain
}

/** In order of preference. */
export const portalChains = {
  CONSUMER: ['consumer', 'self'],
  SYSTEM: ['system', 'self'],
} as const satisfies Record<Portal, readonly ChainId[]>

/** Uses the first chain that serves an operation. Omits WebSockets. Throws TypeError for duplicate names. */
export function listRoutes(preference: readonly ChainId[], added: readonly object[] = []): Route[] {
  const all = [...Object.values(resources), ...added].flatMap(operationsIn)
  const names = new Set<string>()
  for (const [name] of all) {
    if (names.has(name)) throw new TypeError(`contract: two operations have the name ${name}`)
    names.add(name)
  }
  return all.flatMap(([name, operation]): Route[] => {
    const chainId = preference.find((each) => operation.chains.includes(each))
    // Platforms have their own API for WebSockets.
    return chainId && operation.reply !== 'socket' ? [{ name, operation, chain: chains[chainId] }] : []
  })
}

/** Percent-encodes the parameters. Throws a TypeError for an unsafe one. */
export function buildPath({ operation, chain }: Route, params: Record<string, string> = {}): string {
  return (
    chain.prefix +
    operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const nameHere = paramNameOn(chain, operation, name)
      const param = params[nameHere] ?? ''
      if (isUnsafeSegment(param)) throw new TypeError(`${operation.id}: '${param}' is not a valid ${nameHere}`)
      return encodeURIComponent(param)
    })
  )
}

/** Includes the question mark. Omits undefined parameters. */
export function buildQuery(query: object = {}): string {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined)
  return parameters.length === 0
    ? ''
    : `?${new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]))}`
}

/** An empty or dot segment would change the path and reach a different operation. */
function isUnsafeSegment(param: string): boolean {
  return /^\.{0,2}$/.test(param)
}
