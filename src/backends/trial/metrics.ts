import { Counter, Gauge, type Registry } from 'prom-client'
import type { DifferenceKind } from './compare.ts'

/**
 * `equal` and `different`: both replies were compared. `failed`: the shadow did not reply. `skipped`: too many copies
 * wait, or the reply is too large.
 */
export type ShadowOutcome = 'equal' | 'different' | 'failed' | 'skipped'

export type CanaryOutcome = 'ok' | 'failed'

export interface TrialMetrics {
  countShadow(operation: string, outcome: ShadowOutcome): void
  countDifference(operation: string, kind: DifferenceKind): void
  countCanary(url: string, outcome: CanaryOutcome): void
  /** Reads the state at each scrape. */
  watchCanaries(read: () => readonly { url: string; isReturned: boolean }[]): void
}

export function createTrialMetrics(registry: Registry): TrialMetrics {
  const shadows = new Counter({
    name: 'portico_shadow_requests_total',
    help: 'Copies of reads to a shadow, by operation and outcome: equal, different, failed or skipped',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  })
  const differences = new Counter({
    name: 'portico_shadow_differences_total',
    help: 'Differences between the replies of a shadow and of its backend, by operation and kind',
    labelNames: ['operation', 'kind'],
    registers: [registry],
  })
  const canaries = new Counter({
    name: 'portico_canary_requests_total',
    help: 'Requests that a canary served, by outcome: ok or failed',
    labelNames: ['upstream', 'outcome'],
    registers: [registry],
  })
  let readCanaries: () => readonly { url: string; isReturned: boolean }[] = () => []
  new Gauge({
    name: 'portico_canary_returned',
    help: 'Whether the backend serves the requests of a canary again, because too many failed: 0 or 1',
    labelNames: ['upstream'],
    registers: [registry],
    collect() {
      this.reset()
      const returned = new Map<string, boolean>()
      for (const { url, isReturned } of readCanaries()) returned.set(url, isReturned || returned.get(url) === true)
      for (const [upstream, isReturned] of returned) this.set({ upstream }, isReturned ? 1 : 0)
    },
  })
  return {
    countShadow: (operation, outcome) => shadows.inc({ operation, outcome }),
    countDifference: (operation, kind) => differences.inc({ operation, kind }),
    countCanary: (upstream, outcome) => canaries.inc({ upstream, outcome }),
    watchCanaries: (read) => {
      readCanaries = read
    },
  }
}
