import { AbortedTransactionError, sql } from 'kysely'
import { addMs, type Clock, type Instant } from '../kernel/index.ts'
import { sqlState } from './errors.ts'
import { Lease, snapshotLimit } from './lease.ts'
import type { OpenDatabase } from './port.ts'
import { isPipelining, withPipeline, withPipelinedTransaction } from './postgres/pipelining.ts'
import { setIdleTimeout } from './postgres/session.ts'
import { type Opener, whileRunning } from './running-transaction.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/** serialization_failure and deadlock_detected: PostgreSQL has rolled the transaction back, so a retry is safe. */
const conflicts = new Set(['40001', '40P01'])

/** Calls `work` again after a serialization failure or a deadlock, up to 5 attempts in total. */
export const retryOnConflict = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !conflicts.has(sqlState(error) ?? '')) throw error
    }
  }
}

/**
 * Waits for all statements. If several fail, rejects with the error of the first one in the list, which can be the
 * reason for the others.
 */
export const allInOrder = async <const Statements extends readonly Promise<unknown>[]>(
  statements: Statements,
): Promise<{ -readonly [Index in keyof Statements]: Awaited<Statements[Index]> }> => {
  await Promise.allSettled(statements)
  return Promise.all(statements)
}

/**
 * Sends concurrent statements in order over one connection. PostgreSQL gets them in one round trip. Each statement is
 * its own transaction. `work` must use only the passed database, and must not return before its statements end.
 */
export const inOneRoundTrip = <T>(database: Database, work: (database: Database) => Promise<T>): Promise<T> =>
  isPipelining(database) ? withPipeline(database, work) : work(database)

/** Sends the writes together with COMMIT. If one fails, the transaction is rolled back, and rejects with its error. */
export type SendWithCommit = (...writes: Promise<unknown>[]) => void

/**
 * Runs after all microtasks, and thus after the rejection of a statement that the driver could not send. The server
 * does not know of it, and would commit the rest.
 */
const untilSent = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

class CommittedWrites {
  readonly #writes: Promise<unknown>[] = []
  #failure: { error: unknown } | undefined

  readonly send: SendWithCommit = (...writes) => {
    for (const write of writes) {
      this.#writes.push(write)
      write.catch((error: unknown) => {
        this.#failure ??= { error }
      })
    }
  }

  /** Rejects with the error of the first write that failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes)
    this.throwFailure()
  }

  async sent(): Promise<void> {
    if (this.#writes.length === 0) return
    await untilSent()
    this.throwFailure()
  }

  throwFailure(): void {
    if (this.#failure) throw this.#failure.error
  }
}

const leaseOf = (tx: Tx): Promise<Lease> =>
  tx.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof Lease)) throw new Error('the connection has no time limit')
    return connection
  })

const runOnce = async <T>(
  database: Database,
  work: (tx: Tx, sendWithCommit: SendWithCommit) => Promise<T>,
  opener: Opener,
): Promise<T> => {
  const writes = new CommittedWrites()
  try {
    const result = await database.transaction().execute(async (tx) => {
      const lease = await leaseOf(tx)
      return withPipelinedTransaction(tx, async (pipeline) => {
        const running = whileRunning(opener, () => work(pipeline, writes.send))
        const done = await lease.whileHeld(opener.owner, running)
        await (isPipelining(tx) ? writes.sent() : writes.settled())
        return done
      })
    })
    await writes.settled()
    return result
  } catch (error) {
    // The failed write is the reason for the failed COMMIT.
    if (error instanceof AbortedTransactionError) await writes.settled()
    throw error
  }
}

/**
 * Retries `work` after a serialization failure or a deadlock. On PostgreSQL, statements that `work` starts concurrently
 * leave in one round trip, in order. Another connection to the store throws inside `work`, and fails the transaction.
 * Rejects if `work` takes longer than the limit of the connection (lease.ts).
 */
export const inTransaction = <T>(
  database: Database,
  work: (tx: Tx, sendWithCommit: SendWithCommit) => Promise<T>,
  opener: Opener = { owner: 'this work', port: 'transaction' },
): Promise<T> => retryOnConflict(() => runOnce(database, work, opener))

/** If `asOf` is not null, readers must ignore rows written after it. */
export interface Snapshot {
  store: Database
  asOf: Instant | null
}

/** Releases the snapshot when `work` settles. */
export type ReadSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>

/**
 * Reads many pages as of the same instant, on PostgreSQL in one REPEATABLE READ transaction.
 *
 * On PGlite, a transaction would block all other statements. Each page is therefore a separate statement that selects
 * only rows up to `asOf`. The result is exact, because PGlite executes statements in order: the awaited SELECT
 * completes after every statement that could write an earlier row.
 */
export const createSnapshotReader = (
  { database, named, kind }: Pick<OpenDatabase, 'database' | 'named' | 'kind'>,
  clock: Clock,
): ReadSnapshot => {
  const snapshots = named('database', snapshotLimit)
  return async (work) => {
    if (kind === 'postgres') {
      const transaction = snapshots.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      return transaction.execute(async (store) => {
        // The transaction is idle while the client downloads a page, and holds no locks that block writers.
        await sql.raw(setIdleTimeout(0)).execute(store)
        return work({ store, asOf: null })
      })
    }
    const asOf = addMs(clock.now(), -1)
    await sql`SELECT 1`.execute(database)
    return work({ store: database, asOf })
  }
}
