import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { defaultBegin, maxIdleMs as defaultIdleMs, setIdleTimeout, withoutTimeoutsPreamble } from './session.ts'

/** An arbitrary number. Nothing else may use it. */
const lockKey = 7_095_213_844_127
/** How long to wait for a predecessor that is shutting down. */
const takeoverMs = 2_000
const retryMs = 250

export interface SingletonLock {
  /** Rejects unless this process holds the lock. */
  check(): Promise<void>
  release(): Promise<void>
}

interface Options {
  url: string
  connectTimeoutMs: number
  /** The server releases the lock if the connection is idle for longer. */
  silenceMs?: number
  /** `lost`: the connection broke. `held`: the lock is held again. `taken`: another process holds it. */
  onChange(state: 'lost' | 'held' | 'taken'): void
}

/** The connection whose open transaction holds the advisory lock. Takes the lock again after the connection breaks. */
class AdvisoryLock implements SingletonLock {
  readonly #options: Required<Options>
  #holder: Client | undefined
  #isReleased = false
  #regaining: Promise<void> = Promise.resolve()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: Required<Options>) {
    this.#options = options
  }

  /** Tries to take the lock once, on a new connection. */
  async tryAcquire(): Promise<boolean> {
    const { url, connectTimeoutMs, silenceMs } = this.#options
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      // We must notice a lost lock well before the server gives it to another process.
      query_timeout: silenceMs / 3,
      keepAlive: true,
      application_name: 'portico-alone',
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(`${defaultBegin}; ${withoutTimeoutsPreamble}; ${setIdleTimeout(silenceMs)}`)
      const { rows } = await client.query<{ got: boolean }>(`SELECT pg_try_advisory_xact_lock(${lockKey}) AS got`)
      // `release` may have been called meanwhile.
      if (!rows[0]?.got || this.#isReleased) return false
      this.#holder = client
      client.once('end', () => {
        this.#regaining = this.#regain(client)
      })
      return true
    } finally {
      if (this.#holder !== client) await client.end().catch(() => undefined)
    }
  }

  async #regain(client: Client): Promise<void> {
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

  /** Keeps the connection from looking idle to the server and to firewalls, and closes a dead one. */
  startHeartbeat(): void {
    this.#heartbeat = setInterval(() => {
      const client = this.#holder
      void client?.query('SELECT 1').catch(() => client.end())
    }, this.#options.silenceMs / 6).unref()
  }

  async check(): Promise<void> {
    if (!this.#holder) throw new Error('another gateway may run on this database')
  }

  async release(): Promise<void> {
    this.#isReleased = true
    clearInterval(this.#heartbeat)
    await this.#holder?.end().catch(() => undefined)
    await this.#regaining
  }
}

/**
 * Acquires the right to be the only gateway on a database. It is an advisory lock of a transaction that stays open on a
 * connection of its own, which also works behind a pooler in transaction mode. The transaction has read nothing, so it
 * does not hold back VACUUM. Throws if another gateway keeps the lock for 2 seconds.
 */
export const acquireSingletonLock = async (options: Options): Promise<SingletonLock> => {
  const lock = new AdvisoryLock({ ...options, silenceMs: options.silenceMs ?? defaultIdleMs })
  const deadline = performance.now() + takeoverMs
  while (!(await lock.tryAcquire())) {
    if (performance.now() >= deadline)
      throw new Error(
        'another gateway runs on this database. Several gateways share their limits, channels and news by Redis: set REDIS_URL for each of them',
      )
    await pause(retryMs)
  }
  lock.startHeartbeat()
  return lock
}
