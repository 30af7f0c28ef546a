import { type Chain, type ChainId, type FixedPortal, paramNameOn } from '../kernel/index.ts'
import type { CallableOperation } from './portal/operation.ts'

export interface Route {
  operation: CallableOperation
  chain: Chain
}

/** In order of preference. */
export const portalChains = {
  CONSUMER: ['consumer', 'self'],
  SYSTEM: ['system', 'self'],
} as const satisfies Record<FixedPortal, readonly ChainId[]>

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
