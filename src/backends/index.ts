import type { Configuration } from '../config/index.ts'
import { type Clock, domainOf, type HandlerTable, type Operation } from '../kernel/index.ts'
import type { AssertionSigner } from './assertion.ts'
import { cachedAssertions } from './assertion-cache.ts'
import type { Backend } from './backend.ts'
import { inProcess } from './in-process.ts'
import { createUpstream, type Upstream } from './upstream.ts'

export type { AssertionSigner } from './assertion.ts'
export type { Backend } from './backend.ts'
export { assertedCall } from './service.ts'

export interface Backends {
  backendOf(operation: Operation): Backend
  close(): Promise<void>
}

interface Ports {
  /** What the gateway serves itself, whatever the configuration says. */
  identity: HandlerTable
  domains: HandlerTable
  settings: Pick<Configuration, 'backends' | 'assertion'>
  signer: AssertionSigner
  clock: Clock
}

/** Per domain, or by default: in this process, or an HTTP service. One upstream serves every domain with its URL. */
export const createBackends = ({ identity, domains, settings, signer, clock }: Ports): Backends => {
  const own = inProcess(identity)
  const here = inProcess(domains)
  const upstreams = new Map<string, Upstream>()
  const backendFor = (domain: string): Backend => {
    const chosen = settings.backends[domain] ?? settings.backends.default ?? 'in-process'
    if (chosen === 'in-process') return here
    const known = upstreams.get(chosen.url)
    if (known) return known
    const assert = cachedAssertions(signer, chosen.audience, settings.assertion.ttlMs, () => clock.now())
    const upstream = createUpstream(chosen, assert)
    upstreams.set(chosen.url, upstream)
    return upstream
  }
  const byDomain = new Map<string, Backend>()
  return {
    backendOf: ({ id }) => {
      if (identity.has(id)) return own
      const domain = domainOf(id)
      const known = byDomain.get(domain)
      if (known) return known
      const backend = backendFor(domain)
      byDomain.set(domain, backend)
      return backend
    },
    close: async () => {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()))
    },
  }
}
