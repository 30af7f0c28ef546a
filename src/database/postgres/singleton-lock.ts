import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { defaultBegin, maxIdleMs as longestSilence, setIdleTimeout, withoutTimeoutsPreamble } from './session.ts'

/** Any number that nobody else takes. */
const lockKey = 7_095_213_844_127
/** A predecessor that is going down just now is waited for. */
const patienceMs = 2_000
const retryMs = 250

export interface SingletonLock {
  /** Rejects while it is not certain that no other gateway runs on this database. */
  check(): Promise<void>
  release(): Promise<void>
}

interface Options {
  url: string
  connectTimeoutMs: number
  /** After so long without a word the server gives the right to others. */
  silenceMs?: number
  /** The lock was lost with its connection, and what became of the attempt to have it again. */
  onChange(state: 'lost' | 'held' | 'taken'): void
}

/**
 * The right to be the only gateway on a database, for as long as the process lives: an advisory lock of a transaction
 * that stays open, on a connection of its own, which a pooler in transaction mode respects as well. The transaction
 * has read nothing, so it holds up no vacuum. Throws where another gateway has it.
 */
export const acquireSingletonLock = async ({
  url,
  connectTimeoutMs,
  silenceMs = longestSilence,
  onChange,
}: Options): Promise<SingletonLock> => {
  let holder: Client | undefined
  let released = false
  let regaining: Promise<void> = Promise.resolve()

  const take = async (): Promise<boolean> => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      // Long before others may have the right, we know that we may have lost it.
      query_timeout: silenceMs / 3,
      keepAlive: true,
      application_name: 'portico-alone',
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(`${defaultBegin}; ${withoutTimeoutsPreamble}; ${setIdleTimeout(silenceMs)}`)
      const { rows } = await client.query<{ got: boolean }>(`SELECT pg_try_advisory_xact_lock(${lockKey}) AS got`)
      // Whoever was released meanwhile has nothing to hold any more.
      if (!rows[0]?.got || released) return false
      holder = client
      client.once('end', () => {
        regaining = lose(client)
      })
      return true
    } finally {
      if (holder !== client) await client.end().catch(() => undefined)
    }
  }

  const lose = async (client: Client): Promise<void> => {
    if (holder !== client || released) return
    holder = undefined
    onChange('lost')
    let told = false
    while (!released && !holder) {
      const got = await take().catch(() => undefined)
      if (released) return
      if (got === true) onChange('held')
      if (got === false && !told) onChange('taken')
      told ||= got === false
      if (!got) await pause(retryMs, undefined, { ref: false })
    }
  }

  const until = performance.now() + patienceMs
  while (!(await take())) {
    if (performance.now() >= until)
      throw new Error(
        'another gateway runs on this database. Several gateways share their limits, channels and news by Redis: set REDIS_URL for each of them',
      )
    await pause(retryMs)
  }
  /** The connection is used so often, so that whoever watches idle ones lets it be, and a dead one is found and left. */
  const beat = async (client: Client): Promise<void> => {
    await client.query('SELECT 1').catch(() => client.end())
  }
  const beating = setInterval(() => {
    if (holder) void beat(holder)
  }, silenceMs / 6).unref()
  return {
    check: async () => {
      if (!holder) throw new Error('another gateway may run on this database')
    },
    release: async () => {
      released = true
      clearInterval(beating)
      await holder?.end().catch(() => undefined)
      await regaining
    },
  }
}
