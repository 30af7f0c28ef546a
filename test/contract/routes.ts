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

export const shapeOf = (name: string): string => name.replaceAll(/\{\w+\}/g, '{}')

export const routes: Route[] = catalogue.flatMap((operation) =>
  operation.chains.map((chain) => {
    const name = `${operation.method} ${chains[chain].prefix}${operation.path}`
    return { operation, chain, name, shape: shapeOf(name) }
  }),
)

export const routesOf = (chain: ChainId): Route[] => routes.filter((route) => route.chain === chain)
