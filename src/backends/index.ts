import type { Configuration } from '../config/index.ts'
import { isRoutable } from '../contract/index.ts'
import { type AssertionSigner, type Clock, domainOf, type HandlerTable, type Operation } from '../kernel/index.ts'
import type { Backend } from './backend.ts'
import { inProcess } from './in-process.ts'
import type { UpstreamMetrics } from './metrics.ts'
import { createRoutes } from './routes.ts'

export type { Backend } from './backend.ts'
export { createUpstreamMetrics } from './metrics.ts'
export { assertedCall } from './service.ts'

type Placement = Pick<Configuration, 'backends' | 'assertion'>

export interface Backends {
  backendOf(operation: Operation): Backend
  /** Other places for the domains; calls under way end where they began. The last one asked for stays. */
  replace(settings: Pick<Placement, 'backends'>): Promise<void>
  close(): Promise<void>
}

export interface BackendPorts {
  /** What the gateway serves itself, whatever the configuration says. */
  identity: HandlerTable
  domains: HandlerTable
  settings: Placement
  signer: AssertionSigner
  clock: Clock
  metrics: UpstreamMetrics
}

/** Which back-end serves an operation: identity always here, each domain where the configuration says. */
export const createBackends = async (ports: BackendPorts): Promise<Backends> => {
  const own = inProcess(ports.identity)
  const here = inProcess(ports.domains)
  const { assertion } = ports.settings
  const routesFor = ({ backends }: Pick<Placement, 'backends'>) =>
    createRoutes({ ...ports, here, settings: { assertion, backends } })
  let routes = await routesFor(ports.settings)
  let changing: Promise<unknown> = Promise.resolve()
  const change = async (settings: Pick<Placement, 'backends'>): Promise<void> => {
    const next = await routesFor(settings)
    routes.retire()
    routes = next
  }
  return {
    backendOf: ({ id }) => {
      const domain = domainOf(id)
      return isRoutable(domain) ? routes.backendOf(domain) : own
    },
    replace: (settings) => {
      const changed = changing.then(() => change(settings))
      changing = changed.catch(() => undefined)
      return changed
    },
    close: () => routes.close(),
  }
}
