import type { Pool, PoolClient } from 'pg'

/** A server that stays read only makes all connections anew so often, and no more. */
const cooldownMs = 1_000

export interface Failover {
  connect(): Promise<PoolClient>
  /** Whether it is to be closed as it comes back. */
  isOutdated(client: PoolClient): boolean
  /** Whatever is there now is made anew when it is next asked for, or comes back. */
  begin(): void
}

/**
 * Where a failover leaves connections open, they lead to a server that can only be read any more and falls behind, while new
 * ones find the one that took its place: once one is refused a write, none of the others is used any more.
 */
export const createFailover = (pool: Pool): Failover => {
  const madeAt = new WeakMap<PoolClient, number>()
  let begunAt = Number.NEGATIVE_INFINITY
  pool.on('connect', (client) => void madeAt.set(client, performance.now()))
  const isOutdated = (client: PoolClient): boolean => (madeAt.get(client) ?? begunAt) < begunAt
  return {
    connect: async () => {
      for (;;) {
        const client = await pool.connect()
        if (!isOutdated(client)) return client
        client.release(true)
      }
    },
    isOutdated,
    begin: () => {
      const now = performance.now()
      if (now - begunAt >= cooldownMs) begunAt = now
    },
  }
}
