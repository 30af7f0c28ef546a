import { resources } from '../../contract/resources.ts'
import { type ChainId, chains, mountChain, type Operation, operationsIn, type PortalMount } from '../../kernel/index.ts'
import type { CallableOperation } from '../portal/operation.ts'
import type { Route } from '../routes.ts'

export interface NamedRoute extends Route {
  /** The method's name. */
  name: string
  operation: Operation
}

/** Uses the first chain that serves an operation. Omits WebSockets and SCIM. Throws TypeError for duplicate names. */
export function listRoutes(
  preference: readonly ChainId[],
  added: readonly object[] = [],
  mount: PortalMount | null = null,
): NamedRoute[] {
  const all = [...Object.values(resources), ...added].flatMap(operationsIn)
  const names = new Set<string>()
  for (const [name] of all) {
    if (names.has(name)) throw new TypeError(`contract: two operations have the name ${name}`)
    names.add(name)
  }
  return all.flatMap(([name, operation]): NamedRoute[] => {
    const chainId = preference.find((each) => operation.chains.includes(each))
    // Platforms have their own API for WebSockets.
    const isCallable = operation.reply !== 'socket' && operation.protocol === undefined
    return chainId && isCallable ? [{ name, operation, chain: mountChain(chains[chainId], mount) }] : []
  })
}

export function routesOf(routes: readonly NamedRoute[]): (operation: CallableOperation) => Route | undefined {
  const byOperation = new Map<CallableOperation, Route>(routes.map((route) => [route.operation, route]))
  return (operation) => byOperation.get(operation)
}
