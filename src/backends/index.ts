import type { Configuration } from '../config/index.ts'
import { isRoutable } from '../contract/index.ts'
import { type Clock, domainOf, type HandlerTable, type Operation } from '../kernel/index.ts'
import type { AssertionSigner } from './assertion.ts'
import type { Backend } from './backend.ts'
import { inProcess } from './in-process.ts'
import type { UpstreamMetrics } from './metrics.ts'
import { createRoutes } from './routes.ts'

export type { AssertionSigner } from './assertion.ts'
export type { Backend } from './backend.ts'
export { createUpstreamMetrics } from './metrics.ts'
export { assertedCall } from './service.ts'

type Placement = Pick<Configuration, 'backends' | 'assertion'>

export interface Backends {
  backendOf(operation: Operation): Backend
  /** Other places for the domains from the next call on; calls under way end where they began. */
  replace(settings: Placement): void
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
export const createBackends = (ports: BackendPorts): Backends => {
  const own = inProcess(ports.identity)
  const here = inProcess(ports.domains)
  const routesFor = (settings: Placement) => createRoutes({ ...ports, here, settings })
  let routes = routesFor(ports.settings)
  return {
    backendOf: ({ id }) => {
      const domain = domainOf(id)
      return isRoutable(domain) ? routes.backendOf(domain) : own
    },
    replace: (settings) => {
      const before = routes
      routes = routesFor(settings)
      before.retire()
    },
    close: () => routes.close(),
  }
}
