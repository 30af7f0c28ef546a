import {
  type Configuration,
  maxReplyBytesOf,
  placeOf,
  type TrialConfiguration,
  trialOf,
  type UpstreamConfiguration,
} from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import {
  type AssertionSigner,
  type Clock,
  type Durations,
  domainOf,
  type HandlerTable,
  type Operation,
  type Randomness,
  type Timer,
} from '../kernel/index.ts'
import { type Backend, createInProcessBackend } from './backend.ts'
import { createAssertionCache } from './call-assertion.ts'
import type { TrialMetrics } from './trial/metrics.ts'
import type { TrialBook } from './trial/trial-book.ts'
import { openTrials, type Trial, type TrialState, trialStates } from './trial/trials.ts'
import type { UpstreamMetrics } from './upstream/metrics.ts'
import type { StartAttempt, Upstream } from './upstream/upstream.ts'

type Placement = Pick<Configuration, 'backends' | 'assertion' | 'streams'>

export interface Routes {
  backendOf(domain: string): Backend
  /** Null for a domain without a shadow and a canary. */
  trialOf(domain: string): Trial | null
  /** Closes the connections once every call that may still use them has ended or timed out. */
  retire(): void
  /** A second call returns the promise of the first. */
  close(): Promise<void>
}

export interface RoutesPorts {
  inProcess: Backend
  settings: Placement
  signer: AssertionSigner
  clock: Clock
  durations: Durations
  metrics: UpstreamMetrics
  trials: { book: TrialBook; metrics: TrialMetrics; randomness: Randomness }
  startAttempt?: StartAttempt | undefined
  catalogue: Pick<Catalogue, 'isCode' | 'isRoutable' | 'routableDomains'>
}

/** For calls in the queue of an upstream, in addition to its deadline. */
const graceMs = 1_000

/**
 * Domains with equal settings share one upstream. The client has about two hundred modules, so it is loaded only if
 * needed.
 */
export async function createRoutes({
  inProcess,
  settings,
  signer,
  clock,
  durations,
  metrics,
  trials,
  startAttempt,
  catalogue,
}: RoutesPorts): Promise<Routes> {
  const upstreams = new Map<string, Upstream>()
  const { isCode } = catalogue
  const assertionFor = (audience: string) => createAssertionCache(signer, audience, settings.assertion.ttlMs, clock)
  const upstreamFor = async (place: UpstreamConfiguration): Promise<Upstream> => {
    const { createUpstream } = await import('./upstream/upstream.ts')
    const key = JSON.stringify(place)
    const known = upstreams.get(key)
    if (known) return known
    const assertionOf = assertionFor(place.audience)
    const upstream = createUpstream(place, { assertionOf, metrics, startAttempt, isCode, durations }, settings.streams)
    upstreams.set(key, upstream)
    return upstream
  }
  const byDomain = new Map<string, Backend>()
  for (const domain of catalogue.routableDomains) {
    const place = placeOf(settings, domain)
    if (place !== 'in-process') byDomain.set(domain, await upstreamFor(place))
  }
  const { book, metrics: trialMetrics, randomness } = trials
  const tried = await openTrials(settings, catalogue.routableDomains, {
    ...{ book, randomness, durations, isCode, assertionFor, upstreamFor },
    metrics: trialMetrics,
  })
  let retirement: Timer | undefined
  let closing: Promise<unknown> | undefined
  const close = async (): Promise<void> => {
    retirement?.close()
    // undici's pool rejects a second call of `close`.
    closing ??= Promise.all([tried.close(), ...[...upstreams.values()].map((upstream) => upstream.close())])
    await closing
  }
  return {
    backendOf: (domain) => byDomain.get(domain) ?? inProcess,
    trialOf: tried.of,
    retire: () => {
      for (const upstream of upstreams.values()) upstream.retire()
      const delayMs = maxTimeoutMs(settings.backends) + graceMs
      // Nothing awaits this promise, and an unhandled rejection would end the process.
      retirement = durations.after(delayMs, () => void close().catch(() => undefined))
      retirement.unref()
    },
    close,
  }
}

export interface Backends {
  backendOf(operation: Operation): Backend
  /** Null for an operation whose backend has neither a shadow nor a canary. */
  trialOf(operation: Operation): Trial | null
  trialStates(): TrialState[]
  /** Calls in progress finish at their current backend. If several replacements overlap, the last one applies. */
  replace(settings: Pick<Placement, 'backends'>): Promise<void>
  close(): Promise<void>
}

export interface PrefixPlacement {
  operationId: string
  place: UpstreamConfiguration
}

export interface BackendPorts extends Omit<RoutesPorts, 'inProcess'> {
  prefixes: readonly PrefixPlacement[]
  /** Of the domains that the gateway always serves itself, such as identity. */
  ofGateway: HandlerTable
  domains: HandlerTable
}

export async function createBackends(ports: BackendPorts): Promise<Backends> {
  const maxReplyBytes = ({ id }: Operation): number => maxReplyBytesOf(ports.settings, domainOf(id))
  const ofGateway = createInProcessBackend(ports.ofGateway, maxReplyBytes)
  const inProcess = createInProcessBackend(ports.domains, maxReplyBytes)
  const prefixes = await openPrefixes(ports)
  const { assertion, streams } = ports.settings
  const routesFor = ({ backends }: Pick<Placement, 'backends'>): Promise<Routes> =>
    createRoutes({ ...ports, inProcess, settings: { assertion, streams, backends } })
  let routes = await routesFor(ports.settings)
  let current: Pick<Placement, 'backends'> = ports.settings
  // Replacements run one after the other.
  let replacement: Promise<unknown> = Promise.resolve()
  const replaceRoutes = async (settings: Pick<Placement, 'backends'>): Promise<void> => {
    const next = await routesFor(settings).catch((error: unknown) => {
      ports.trials.book.retain(trialsIn(current))
      throw error
    })
    routes.retire()
    routes = next
    current = settings
    ports.trials.book.retain(trialsIn(settings))
  }
  const { routableDomains } = ports.catalogue
  const trialsIn = (settings: Pick<Placement, 'backends'>) => routableDomains.map((name) => trialOf(settings, name))
  return {
    trialOf: ({ id }) => routes.trialOf(domainOf(id)),
    trialStates: () => trialStates(current, routableDomains, ports.trials.book),
    backendOf: ({ id }) => {
      const prefix = prefixes.get(id)
      if (prefix) return prefix
      const domain = domainOf(id)
      return ports.catalogue.isRoutable(domain) ? routes.backendOf(domain) : ofGateway
    },
    replace: (settings) => {
      const replaced = replacement.then(() => replaceRoutes(settings))
      replacement = replaced.catch(() => undefined)
      return replaced
    },
    close: async () => {
      await Promise.all([routes.close(), ...[...prefixes.values()].map((upstream) => upstream.close())])
    },
  }
}

function maxTimeoutMs(backends: Configuration['backends']): number {
  return Object.values(backends).reduce(
    (max, place) =>
      typeof place === 'object'
        ? Math.max(max, place.timeoutMs, place.streamTimeoutMs, ...canaryTimeouts(place.canary))
        : max,
    0,
  )
}

function canaryTimeouts(canary: TrialConfiguration['canary'] | undefined): number[] {
  return canary ? [canary.timeoutMs, canary.streamTimeoutMs] : []
}

async function openPrefixes(ports: BackendPorts) {
  const { prefixes, signer, settings, clock, catalogue } = ports
  const upstreams = new Map<string, Upstream>()
  for (const { operationId, place } of prefixes) {
    const { createUpstream } = await import('./upstream/upstream.ts')
    const assertionOf = createAssertionCache(signer, place.audience, settings.assertion.ttlMs, clock)
    const { isCode } = catalogue
    upstreams.set(operationId, createUpstream(place, { ...ports, assertionOf, isCode }, settings.streams))
  }
  return upstreams
}
