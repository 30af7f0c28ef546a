import { catalogue } from '../../src/contract/index.ts'
import { type ChainId, chains, type Operation } from '../../src/kernel/index.ts'

export interface Route {
  operation: Operation
  chain: ChainId
  /** Keeps the names of the parameters. */
  name: string
  /** Without the names of the parameters, as the router compares paths. */
  shape: string
}

export function shapeOf(name: string): string {
  return name.replaceAll(/\{\w+\}/g, '{}')
}

export const routes: Route[] = catalogue.flatMap((operation) =>
  operation.chains.map((chain) => {
    const name = `${operation.method} ${chains[chain].prefix}${operation.path}`
    return { operation, chain, name, shape: shapeOf(name) }
  }),
)

/** Those of the OpenAPI document, which omits SCIM. */
export const documentedRoutes = routes.filter(({ operation }) => operation.protocol === undefined)

export function routesOf(chain: ChainId): Route[] {
  return routes.filter((route) => route.chain === chain)
}
