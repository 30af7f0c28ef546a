import { type Configuration, placeOf, type UpstreamConfiguration } from '../config/index.ts'
import { routableDomains } from '../contract/index.ts'
import type { AssertionSigner, Clock } from '../kernel/index.ts'
import type { Backend } from './backend.ts'
import { createAssertionCache } from './call-assertion.ts'
import type { UpstreamMetrics } from './upstream/metrics.ts'
import type { Upstream } from './upstream/upstream.ts'

/** One immutable table of placements: which backend serves which domain. */
export interface Routes {
  backendOf(domain: string): Backend
  /** Closes the connections once every call that may still use them has ended or timed out. */
  retire(): void
  /** Closes the connections now. A second call returns the promise of the first. */
  close(): Promise<void>
}

export interface RoutesPorts {
  here: Backend
  settings: Pick<Configuration, 'backends' | 'assertion'>
  signer: AssertionSigner
  clock: Clock
  metrics: UpstreamMetrics
}

/** Time for calls that wait in an upstream's queue, in addition to its deadline. */
const graceMs = 1_000

const maxTimeoutMs = (backends: Configuration['backends']): number =>
  Object.values(backends).reduce(
    (max, place) => (typeof place === 'object' ? Math.max(max, place.timeoutMs, place.streamTimeoutMs) : max),
    0,
  )

/**
 * Builds the table of one configuration. Domains with equal settings share one upstream. The upstream client is loaded
 * only where a domain is placed upstream: it has about two hundred modules.
 */
export async function createRoutes({ here, settings, signer, clock, metrics }: RoutesPorts): Promise<Routes> {
  const upstreams = new Map<string, Upstream>()
  const upstreamFor = async (place: UpstreamConfiguration): Promise<Upstream> => {
    const { createUpstream } = await import('./upstream/upstream.ts')
    const key = JSON.stringify(place)
    const known = upstreams.get(key)
    if (known) return known
    const assertionOf = createAssertionCache(signer, place.audience, settings.assertion.ttlMs, clock)
    const upstream = createUpstream(place, assertionOf, metrics)
    upstreams.set(key, upstream)
    return upstream
  }
  const byDomain = new Map<string, Backend>()
  for (const domain of routableDomains) {
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
    backendOf: (domain) => byDomain.get(domain) ?? here,
    retire: () => {
      for (const upstream of upstreams.values()) upstream.retire()
      const delayMs = maxTimeoutMs(settings.backends) + graceMs
      // Nothing awaits this close, and an unhandled rejection would end the process.
      retirement = setTimeout(() => void close().catch(() => undefined), delayMs).unref()
    },
    close,
  }
}
