import type { Pool, PoolClient } from 'pg'

/**
 * Minimum time between two calls that retire connections, in milliseconds. Without a minimum, a server that stays
 * read-only would cost a new connection per request.
 */
const cooldownMs = 1_000

/**
 * Replaces the pool's connections after a failover. Existing connections stay open, but their server has become
 * read-only. New connections reach the new primary. The first write that fails as read-only therefore retires all
 * connections that were opened before the failure.
 */
export class Failover {
  readonly #pool: Pool
  readonly #connectedAt = new WeakMap<PoolClient, number>()
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connect', (client) => void this.#connectedAt.set(client, performance.now()))
  }

  /** Returns a connection that is not retired. Closes each retired connection that the pool returns. */
  async connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect()
      if (!this.isRetired(client)) return client
      client.release(true)
    }
  }

  /** Whether a connection is retired. Close a retired connection instead of returning it to the pool. */
  isRetired(client: PoolClient): boolean {
    return (this.#connectedAt.get(client) ?? this.#renewedAt) < this.#renewedAt
  }

  /** Retires all existing connections, at most once per second. */
  retireConnections(): void {
    const now = performance.now()
    if (now - this.#renewedAt >= cooldownMs) this.#renewedAt = now
  }
}
