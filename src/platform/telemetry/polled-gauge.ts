import { setTimeout as pause } from 'node:timers/promises'
import type { Clock, Instant } from '../../kernel/index.ts'

/** Minimum time between two queries, regardless of how often metrics are scraped. */
const freshMs = 5_000
const timeoutMs = 1_000

interface Ports {
  clock: Clock
  onFault(error: unknown): void
}

/** Every gauge that the query sets needs the result as its `collect`. Otherwise, it shows the value of the scrape before. */
export function pollForGauge({ clock, onFault }: Ports, query: () => Promise<void>): () => Promise<void> {
  let refreshedAt: Instant | null = null
  let refreshing: Promise<void> | null = null

  const refresh = async (): Promise<void> => {
    try {
      await query()
    } catch (error) {
      onFault(error)
    } finally {
      refreshing = null
    }
  }

  return async () => {
    const now = clock.now()
    if (refreshing === null && (refreshedAt === null || Math.abs(now - refreshedAt) >= freshMs)) {
      refreshedAt = now
      refreshing = refresh()
    }
    // A database that does not respond must not block the other metrics.
    if (refreshing !== null) await Promise.race([refreshing, pause(timeoutMs, undefined, { ref: false })])
  }
}
