import { catalogue } from '../../src/contract/index.ts'
import { type ChainId, chains, type Operation } from '../../src/kernel/index.ts'

/** An operation on one chain. */
export interface Route {
  name: string
  operation: Operation
  chainId: ChainId
  method: string
  /** Path with an unknown id in place of each parameter. */
  path: string
}

export const unknownId = '01990000-0000-7000-8000-00000000dead'

const routeOf = (operation: Operation, chainId: ChainId): Route => ({
  name: `${operation.id} on ${chainId}`,
  operation,
  chainId,
  method: operation.method,
  path: chains[chainId].prefix + operation.path.replace(/\{\w+\}/g, unknownId),
})

/** Every operation on every chain that the operation declares. */
export const routes: Route[] = catalogue.flatMap((operation) =>
  operation.chains.map((chainId) => routeOf(operation, chainId)),
)

export const portalRoutes = routes.filter(({ chainId }) => chains[chainId].perimeter === 'portal')
