import { AbortedTransactionError, type CompiledQuery, sql } from 'kysely'
import { addMs, type Clock, type Instant } from '../kernel/index.ts'
import { closedGate } from './command-gate.ts'
import { sqlState } from './errors.ts'
import { Lease, snapshotLimit } from './lease.ts'
import type { OpenDatabase } from './port.ts'
import { setIdleTimeout } from './postgres/session.ts'
import { type Opener, whileRunning } from './running-transaction.ts'
import { type Results, type Statements, together } from './statements.ts'
import type { Database, Tx } from './tables.ts'

const maxAttempts = 5
/** serialization_failure and deadlock_detected: PostgreSQL has rolled the transaction back, so a retry is safe. */
const conflicts = new Set(['40001', '40P01'])

/** Calls `work` again after a serialization failure or a deadlock, up to 5 attempts in total. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= maxAttempts || !conflicts.has(sqlState(error) ?? '')) throw error
    }
  }
}

/** The last statements of a transaction, and its result. */
export class LastStatements<Result> {
  readonly statements: Statements<Result>

  constructor(statements: Statements<Result>) {
    this.statements = statements
  }
}

/**
 * The return value of a transaction that sends its last statements together with COMMIT. If one fails, the transaction
 * is rolled back, and rejects with its error. Its result is that of `toResult`, which must not throw: it runs after
 * COMMIT.
 */
export function commitWith<const All extends readonly Statements<unknown>[], Result>(
  all: All,
  toResult: (results: Results<All>) => Result,
): LastStatements<Result> {
  return new LastStatements(together(all).map(toResult))
}

type Work<T> = (tx: Tx) => Promise<T | LastStatements<T>>

/**
 * Retries `work` after a serialization failure or a deadlock. BEGIN leaves with the first statements. Another connection
 * to the store throws inside `work`, and fails the transaction. Rejects if `work` takes longer than the limit of the
 * connection (lease.ts).
 */
export function inTransaction<T>(
  database: Database,
  work: Work<T>,
  opener: Opener = { owner: 'this work', port: 'transaction' },
): Promise<T> {
  return retryOnConflict(() => runOnce(database, work, opener))
}

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
export function createSnapshotReader(
  { database, named, kind }: Pick<OpenDatabase, 'database' | 'named' | 'kind'>,
  clock: Clock,
): ReadSnapshot {
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

async function runOnce<T>(database: Database, work: Work<T>, opener: Opener): Promise<T> {
  let last: Promise<T> | undefined
  const gate = closedGate()
  try {
    const result = await database.transaction().execute(async (tx) => {
      const lease = await leaseOf(tx)
      if (gate) lease.allowWrites()
      const running = whileRunning(opener, gate ? () => gate.enter(tx).then(() => work(tx)) : () => work(tx))
      try {
        const done = await lease.whileHeld(opener.owner, running)
        if (!isLast(done)) return { results: done }
        const sent = await sendLast(lease, done)
        last = sent.results
        return sent
      } finally {
        lease.close()
      }
    })
    const results = await result.results
    gate?.pass()
    return results
  } catch (error) {
    // The failed statement is the reason for the failed COMMIT.
    if (error instanceof AbortedTransactionError) await last
    throw error
  }
}

function leaseOf(tx: Tx): Promise<Lease> {
  return tx.getExecutor().provideConnection(async (connection) => {
    if (!(connection instanceof Lease)) throw new Error('the connection has no time limit')
    return connection
  })
}

function isLast<T>(result: T | LastStatements<T>): result is LastStatements<T> {
  return result instanceof LastStatements
}

/** Resolves once all statements are sent. Rejects if one could not be. */
async function sendLast<T>(lease: Lease, { statements }: LastStatements<T>): Promise<{ results: Promise<T> }> {
  const failures: unknown[] = []
  const results = statements.send(<Row>(compiled: CompiledQuery<Row>) => {
    const sent = lease.executeQuery<Row>(compiled)
    sent.catch((error: unknown) => failures.push(error))
    return sent
  })
  // The caller reads them after COMMIT.
  results.catch(() => undefined)
  await untilSent()
  if (failures.length > 0) await results
  return { results }
}

/**
 * Runs after all microtasks, and thus after the rejection of a statement that the driver could not send. The server
 * does not know of it, and would commit the rest.
 */
function untilSent(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
