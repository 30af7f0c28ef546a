/**
 * What is behind the gateway. A `Backend` serves the operations of a domain: in-process.ts calls its handlers in this
 * process, `upstream/` sends them to an HTTP service. The gateway signs a call assertion for each upstream call
 * (call-assertion.ts), and a domain service verifies it (call-assertion-stage.ts). Start with backend.ts and routes.ts.
 */
import type { Configuration } from '../config/index.ts'
import { isRoutable } from '../contract/index.ts'
import { type AssertionSigner, type Clock, domainOf, type HandlerTable, type Operation } from '../kernel/index.ts'
import type { Backend } from './backend.ts'
import { createInProcessBackend } from './in-process.ts'
import { createRoutes } from './routes.ts'
import type { UpstreamMetrics } from './upstream/metrics.ts'

export type { Backend } from './backend.ts'
export { callAssertionStage } from './call-assertion-stage.ts'
export { createUpstreamMetrics } from './upstream/metrics.ts'

type Placement = Pick<Configuration, 'backends' | 'assertion'>

export interface Backends {
  backendOf(operation: Operation): Backend
  /** Changes where domains are served. Calls in progress end where they began. The last call wins. */
  replace(settings: Pick<Placement, 'backends'>): Promise<void>
  close(): Promise<void>
}

export interface BackendPorts {
  /** Handlers of identity, which the gateway always serves itself. */
  identity: HandlerTable
  domains: HandlerTable
  settings: Placement
  signer: AssertionSigner
  clock: Clock
  metrics: UpstreamMetrics
}

/** Returns the backends: identity always in process, each domain where the configuration places it. */
export async function createBackends(ports: BackendPorts): Promise<Backends> {
  const identity = createInProcessBackend(ports.identity)
  const here = createInProcessBackend(ports.domains)
  const { assertion } = ports.settings
  const routesFor = ({ backends }: Pick<Placement, 'backends'>) =>
    createRoutes({ ...ports, here, settings: { assertion, backends } })
  let routes = await routesFor(ports.settings)
  // Replacements run one after the other.
  let replacement: Promise<unknown> = Promise.resolve()
  const replaceRoutes = async (settings: Pick<Placement, 'backends'>): Promise<void> => {
    const next = await routesFor(settings)
    routes.retire()
    routes = next
  }
  return {
    backendOf: ({ id }) => {
      const domain = domainOf(id)
      return isRoutable(domain) ? routes.backendOf(domain) : identity
    },
    replace: (settings) => {
      const replaced = replacement.then(() => replaceRoutes(settings))
      replacement = replaced.catch(() => undefined)
      return replaced
    },
    close: () => routes.close(),
  }
}
