import type { Pool, PoolClient } from 'pg'

/** Otherwise, while a server stays read-only, every request would open a new connection. */
const cooldownMs = 1_000

/**
 * After a failover, existing connections stay open, but their server is read-only. The first write that fails as
 * read-only retires all connections that were opened before.
 */
export class Failover {
  readonly #pool: Pool
  readonly #connectedAt = new WeakMap<PoolClient, number>()
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connect', (client) => void this.#connectedAt.set(client, performance.now()))
  }

  async connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect()
      if (!this.isRetired(client)) return client
      client.release(true)
    }
  }

  /** Close a retired connection instead of returning it to the pool. */
  isRetired(client: PoolClient): boolean {
    return (this.#connectedAt.get(client) ?? this.#renewedAt) < this.#renewedAt
  }

  retireConnections(): void {
    const now = performance.now()
    if (now - this.#renewedAt >= cooldownMs) this.#renewedAt = now
  }
}
