import { type Configuration, placeOf, type UpstreamConfiguration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { type AssertionSigner, type Clock, domainOf, type HandlerTable, type Operation } from '../kernel/index.ts'
import { type Backend, createInProcessBackend } from './backend.ts'
import { createAssertionCache } from './call-assertion.ts'
import type { UpstreamMetrics } from './upstream/metrics.ts'
import type { Upstream } from './upstream/upstream.ts'

type Placement = Pick<Configuration, 'backends' | 'assertion'>

/** An immutable table of which backend serves which domain. */
export interface Routes {
  backendOf(domain: string): Backend
  /** Closes the connections once every call that may still use them has ended or timed out. */
  retire(): void
  /** Closes the connections now. A second call returns the promise of the first. */
  close(): Promise<void>
}

export interface RoutesPorts {
  inProcess: Backend
  settings: Placement
  signer: AssertionSigner
  clock: Clock
  metrics: UpstreamMetrics
  catalogue: Pick<Catalogue, 'isCode' | 'isRoutable' | 'routableDomains'>
}

/** Time that calls in an upstream's queue get in addition to its deadline. */
const graceMs = 1_000

const maxTimeoutMs = (backends: Configuration['backends']): number =>
  Object.values(backends).reduce(
    (max, place) => (typeof place === 'object' ? Math.max(max, place.timeoutMs, place.streamTimeoutMs) : max),
    0,
  )

/**
 * Builds the table of one configuration. Domains with equal settings share one upstream. The upstream client has
 * about two hundred modules, so it is loaded only if a domain is placed upstream.
 */
export async function createRoutes({
  inProcess,
  settings,
  signer,
  clock,
  metrics,
  catalogue,
}: RoutesPorts): Promise<Routes> {
  const upstreams = new Map<string, Upstream>()
  const upstreamFor = async (place: UpstreamConfiguration): Promise<Upstream> => {
    const { createUpstream } = await import('./upstream/upstream.ts')
    const key = JSON.stringify(place)
    const known = upstreams.get(key)
    if (known) return known
    const assertionOf = createAssertionCache(signer, place.audience, settings.assertion.ttlMs, clock)
    const upstream = createUpstream(place, assertionOf, metrics, catalogue.isCode)
    upstreams.set(key, upstream)
    return upstream
  }
  const byDomain = new Map<string, Backend>()
  for (const domain of catalogue.routableDomains) {
    const place = placeOf(settings, domain)
    if (place !== 'in-process') byDomain.set(domain, await upstreamFor(place))
  }
  let retirement: NodeJS.Timeout | undefined
  let closing: Promise<unknown> | undefined
  const close = async (): Promise<void> => {
    clearTimeout(retirement)
    // undici's pool rejects a second close.
    closing ??= Promise.all([...upstreams.values()].map((upstream) => upstream.close()))
    await closing
  }
  return {
    backendOf: (domain) => byDomain.get(domain) ?? inProcess,
    retire: () => {
      for (const upstream of upstreams.values()) upstream.retire()
      const delayMs = maxTimeoutMs(settings.backends) + graceMs
      // Nothing awaits this close, and an unhandled rejection would end the process.
      retirement = setTimeout(() => void close().catch(() => undefined), delayMs).unref()
    },
    close,
  }
}

export interface Backends {
  backendOf(operation: Operation): Backend
  /**
   * Changes which backend serves which domain. Calls in progress end at their backend. If several replacements overlap,
   * the last one applies.
   */
  replace(settings: Pick<Placement, 'backends'>): Promise<void>
  close(): Promise<void>
}

export interface BackendPorts extends Omit<RoutesPorts, 'inProcess'> {
  /** Handlers of identity, which the gateway always serves itself. */
  identity: HandlerTable
  domains: HandlerTable
}

/** Returns the backends: identity always in process, each domain where the configuration places it. */
export async function createBackends(ports: BackendPorts): Promise<Backends> {
  const identity = createInProcessBackend(ports.identity)
  const inProcess = createInProcessBackend(ports.domains)
  const { assertion } = ports.settings
  const routesFor = ({ backends }: Pick<Placement, 'backends'>): Promise<Routes> =>
    createRoutes({ ...ports, inProcess, settings: { assertion, backends } })
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
      return ports.catalogue.isRoutable(domain) ? routes.backendOf(domain) : identity
    },
    replace: (settings) => {
      const replaced = replacement.then(() => replaceRoutes(settings))
      replacement = replaced.catch(() => undefined)
      return replaced
    },
    close: () => routes.close(),
  }
}
