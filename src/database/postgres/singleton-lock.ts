import type { LookupFunction } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { ResolvingSocket } from './client.ts'
import { defaultBegin, maxIdleMs as defaultIdleMs, setIdleTimeout, withoutTimeoutsPreamble } from './session.ts'

/** An arbitrary number that no other lock uses. */
const lockKey = 7_095_213_844_127
/** Maximum wait for a gateway that is shutting down. */
const takeoverMs = 2_000
const retryMs = 250

export interface SingletonLock {
  /** Rejects if this process does not hold the lock. */
  check(): Promise<void>
  release(): Promise<void>
}

interface Options {
  url: string
  connectTimeoutMs: number
  /** Default: that of Node. */
  lookup?: LookupFunction
  /** After this idle time, the server ends the transaction and releases the lock. */
  maxIdleMs?: number
  /** `lost`: the connection broke. `held`: this process has the lock again. `taken`: another process has it. */
  onChange(state: 'lost' | 'held' | 'taken'): void
}

/** Acquires the lock again after the connection breaks. */
class AdvisoryLock implements SingletonLock {
  readonly #options: Options & { maxIdleMs: number }
  #holder: Client | undefined
  #isReleased = false
  #reacquiring: Promise<void> = Promise.resolve()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: Options & { maxIdleMs: number }) {
    this.#options = options
  }

  async tryAcquire(): Promise<boolean> {
    const { url, connectTimeoutMs, maxIdleMs, lookup } = this.#options
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      // Detect a lost connection well before the server releases the lock.
      query_timeout: maxIdleMs / 3,
      keepAlive: true,
      stream: () => new ResolvingSocket(lookup),
      application_name: 'portico-singleton',
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(`${defaultBegin}; ${withoutTimeoutsPreamble}; ${setIdleTimeout(maxIdleMs)}`)
      const { rows } = await client.query<{ acquired: boolean }>(
        `SELECT pg_try_advisory_xact_lock(${lockKey}) AS acquired`,
      )
      // `release` may have been called in the meantime.
      if (!rows[0]?.acquired || this.#isReleased) return false
      this.#holder = client
      client.once('end', () => {
        this.#reacquiring = this.#reacquire(client)
      })
      return true
    } finally {
      if (this.#holder !== client) await client.end().catch(() => undefined)
    }
  }

  async #reacquire(client: Client): Promise<void> {
    const { onChange } = this.#options
    if (this.#holder !== client || this.#isReleased) return
    this.#holder = undefined
    onChange('lost')
    let isReported = false
    while (!this.#isReleased && !this.#holder) {
      const isAcquired = await this.tryAcquire().catch(() => undefined)
      if (this.#isReleased) return
      if (isAcquired === true) onChange('held')
      if (isAcquired === false && !isReported) onChange('taken')
      isReported ||= isAcquired === false
      if (!isAcquired) await pause(retryMs, undefined, { ref: false })
    }
  }

  /** Prevents the server and firewalls from closing the connection as idle. */
  startHeartbeat(): void {
    this.#heartbeat = setInterval(() => {
      const client = this.#holder
      void client?.query('SELECT 1').catch(() => client.end())
    }, this.#options.maxIdleMs / 6).unref()
  }

  async check(): Promise<void> {
    if (!this.#holder) throw new Error('another gateway may be running on this database')
  }

  async release(): Promise<void> {
    this.#isReleased = true
    clearInterval(this.#heartbeat)
    await this.#holder?.end().catch(() => undefined)
    await this.#reacquiring
  }
}

/**
 * Throws if another gateway still holds the lock after 2 seconds. The lock belongs to a transaction that stays open, so
 * it also works behind a pooler in transaction mode. The transaction reads no data and does not delay VACUUM.
 */
export async function acquireSingletonLock(options: Options): Promise<SingletonLock> {
  const lock = new AdvisoryLock({ ...options, maxIdleMs: options.maxIdleMs ?? defaultIdleMs })
  const deadline = performance.now() + takeoverMs
  while (!(await lock.tryAcquire())) {
    if (performance.now() >= deadline)
      throw new Error(
        'another gateway runs on this database. Several gateways share their state through Redis: set REDIS_URL for each of them',
      )
    await pause(retryMs)
  }
  lock.startHeartbeat()
  return lock
}
