import type { Pool, PoolClient } from 'pg'

/** Minimum time between two renewals, so that a server that stays read-only does not cost a new connection per request. */
const cooldownMs = 1_000

/**
 * Replaces the pool's connections after a failover. The old ones stay open and lead to a server that has become
 * read-only, while new ones reach the new primary. So the first refused write retires every connection made before it.
 */
export class Failover {
  readonly #pool: Pool
  readonly #connectedAt = new WeakMap<PoolClient, number>()
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connect', (client) => void this.#connectedAt.set(client, performance.now()))
  }

  /** Returns a connection that is not retired. Closes retired ones on the way. */
  async connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect()
      if (!this.isRetired(client)) return client
      client.release(true)
    }
  }

  /** Whether to close a connection instead of returning it to the pool. */
  isRetired(client: PoolClient): boolean {
    return (this.#connectedAt.get(client) ?? this.#renewedAt) < this.#renewedAt
  }

  /** Retires all existing connections, at most once per second. */
  retireConnections(): void {
    const now = performance.now()
    if (now - this.#renewedAt >= cooldownMs) this.#renewedAt = now
  }
}
