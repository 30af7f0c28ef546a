import type { Pool, PoolClient } from 'pg'

/** Otherwise, while a server stays read-only, every request would open a new connection. */
const cooldownMs = 1_000

/** Follows a moved name within two minutes. A new connection costs the server a process and its plans. */
const maxAgeMs = 60_000

/**
 * After a failover, existing connections stay open, but their server is read-only. The first write that fails as
 * read-only retires all connections that were opened before, as does one without a reply. Each connection also has a
 * maximum age, with a jitter.
 */
export class Failover {
  readonly #pool: Pool
  readonly #lifetimes = new WeakMap<PoolClient, { from: number; until: number }>()
  #connections = 0
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connect', (client) => {
      const from = performance.now()
      this.#lifetimes.set(client, { from, until: from + maxAgeMs * (1 + this.#nextJitter()) })
    })
  }

  /** Multiples of the golden ratio spread evenly over [0, 1). */
  #nextJitter(): number {
    return (++this.#connections * 0.618034) % 1
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
    const { from, until } = this.#lifetimes.get(client) ?? { from: this.#renewedAt, until: Number.POSITIVE_INFINITY }
    return from < this.#renewedAt || performance.now() >= until
  }

  retireConnections(): void {
    const now = performance.now()
    if (now - this.#renewedAt >= cooldownMs) this.#renewedAt = now
  }
}
