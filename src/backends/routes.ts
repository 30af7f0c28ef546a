import { type Configuration, placeOf, type UpstreamConfiguration } from '../config/index.ts'
import { routableDomains } from '../contract/index.ts'
import type { AssertionSigner, Clock } from '../kernel/index.ts'
import { cachedAssertions } from './assertion-cache.ts'
import type { Backend } from './backend.ts'
import type { UpstreamMetrics } from './metrics.ts'
import type { Upstream } from './upstream.ts'

export interface Routes {
  backendOf(domain: string): Backend
  /** Closes the connections once every call that may still use them has ended or timed out. */
  retire(): void
  /** Closes the connections now. A second call returns the promise of the first. */
  close(): Promise<void>
}

interface Ports {
  here: Backend
  settings: Pick<Configuration, 'backends' | 'assertion'>
  signer: AssertionSigner
  clock: Clock
  metrics: UpstreamMetrics
}

/** Time for what waits in a bulkhead, beside the upstream's own deadline. */
const graceMs = 1_000

/**
 * One unchanging table of places: per domain, or by default, here or an upstream. Equal settings share one upstream.
 * What speaks to upstreams is some two hundred modules: they are loaded where there is one.
 */
export const createRoutes = async ({ here, settings, signer, clock, metrics }: Ports): Promise<Routes> => {
  const upstreams = new Map<string, Upstream>()
  const upstreamFor = async (chosen: UpstreamConfiguration): Promise<Upstream> => {
    const { createUpstream } = await import('./upstream.ts')
    const key = JSON.stringify(chosen)
    const known = upstreams.get(key)
    if (known) return known
    const assert = cachedAssertions(signer, chosen.audience, settings.assertion.ttlMs, clock)
    const upstream = createUpstream(chosen, assert, metrics)
    upstreams.set(key, upstream)
    return upstream
  }
  const byDomain = new Map<string, Backend>()
  for (const domain of routableDomains) {
    const place = placeOf(settings, domain)
    if (place !== 'in-process') byDomain.set(domain, await upstreamFor(place))
  }
  let retiring: NodeJS.Timeout | undefined
  let closing: Promise<unknown> | undefined
  const close = async (): Promise<void> => {
    clearTimeout(retiring)
    // A pool rejects a second close.
    closing ??= Promise.all([...upstreams.values()].map((upstream) => upstream.close()))
    await closing
  }
  const longest = Object.values(settings.backends).reduce(
    (most, chosen) => (typeof chosen === 'object' ? Math.max(most, chosen.timeoutMs, chosen.streamTimeoutMs) : most),
    0,
  )
  return {
    backendOf: (domain) => byDomain.get(domain) ?? here,
    retire: () => {
      for (const upstream of upstreams.values()) upstream.retire()
      // Nobody waits for this close: an unhandled rejection would end the process over connections that nobody uses.
      retiring = setTimeout(() => void close().catch(() => undefined), longest + graceMs).unref()
    },
    close,
  }
}
