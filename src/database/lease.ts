import {
  type AbortableOperationOptions,
  type CompiledQuery,
  createQueryId,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  type RawBuilder,
  sql,
  type TransactionSettings,
} from 'kysely'
import { closedGate } from './command-gate.ts'
import { assertNoTransaction, assertNoTransactionControl, assertReads } from './running-transaction.ts'

/** When a caller loses its connection. Null: never. */
export type HoldLimit = { ms: number; since: 'acquired' | 'lastStatement' } | null

/** Twice the default time limit of a statement. A transaction has more than one. */
const maxHoldMs = 10_000

/** A statement may take `statementTimeoutMs`. */
export function holdLimit(statementTimeoutMs = 0): HoldLimit {
  return {
    ms: Math.max(maxHoldMs, 2 * statementTimeoutMs),
    since: 'acquired',
  }
}

/** Between two pages of a snapshot, its reader can wait for a slow file store. */
export const snapshotLimit: HoldLimit = { ms: 600_000, since: 'lastStatement' }

/** Runs a statement, in a span if its caller is traced. Calls `run` before it returns. */
export type TraceStatement = <T>(text: string, run: () => Promise<T>) => Promise<T>

export interface LeaseOptions {
  limit: HoldLimit
  trace?: TraceStatement | undefined
}

/**
 * A connection for one caller. After `release` or the time limit, its statements fail: the connection may belong to
 * another caller.
 */
export class Lease implements DatabaseConnection {
  readonly #connection: DatabaseConnection
  readonly #limit: HoldLimit
  readonly #giveBack: () => Promise<void>
  readonly #trace: TraceStatement
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #isClosed = false
  #allowsWrites = false
  #onExpired: () => void = () => undefined

  /** `giveBack` must end an open transaction. */
  constructor(connection: DatabaseConnection, { limit, trace }: LeaseOptions, giveBack: () => Promise<void>) {
    this.#connection = connection
    this.#limit = limit
    this.#giveBack = giveBack
    this.#trace = trace ?? untraced
    this.#startTimer()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async executeQuery<R>(query: CompiledQuery, options?: AbortableOperationOptions): Promise<QueryResult<R>> {
    const connection = this.held()
    if (this.#isClosed) throw new Error('the statement started after the end of its transaction')
    assertNoTransactionControl(query.sql)
    const gate = this.#allowsWrites ? undefined : closedGate()
    if (gate) assertReads(query.sql, gate.command)
    if (this.#limit?.since === 'lastStatement') this.#timer?.refresh()
    return this.#trace(query.sql, () => connection.executeQuery<R>(query, options))
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('cursors are not supported')
  }

  /** Throws after the end of the lease. */
  held(): DatabaseConnection {
    if (this.#isOver) throw new Error(`the connection was given back, or held for more than ${this.#seconds()} s`)
    return this.#connection
  }

  /** Lets a command with a closed gate write. Its transaction begins with the check of the gate. */
  allowWrites(): void {
    this.#allowsWrites = true
  }

  /** Call before COMMIT: a later statement would not be part of the transaction. */
  close(): void {
    this.#isClosed = true
  }

  /** The limit does not interrupt `send`, which commits or rolls back: its outcome would be unknown. */
  async finish(text: 'COMMIT' | 'ROLLBACK', send: (connection: DatabaseConnection) => Promise<void>): Promise<void> {
    const connection = this.held()
    clearTimeout(this.#timer)
    try {
      await this.#trace(text, () => send(connection))
    } finally {
      if (!this.#isOver) this.#startTimer()
    }
  }

  /** Rejects once the limit is reached, even if `work` never settles. */
  whileHeld<T>(owner: string, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onExpired = () => reject(new Error(`${owner} kept its transaction open for ${this.#seconds()} s`))
      work.then(resolve, reject)
    })
  }

  async release(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#giveBack()
  }

  #seconds(): number {
    return (this.#limit?.ms ?? 0) / 1_000
  }

  #startTimer(): void {
    if (this.#limit === null) return
    this.#timer = setTimeout(() => {
      this.#onExpired()
      // A store that has failed reports it to the next caller.
      void this.release().catch(() => undefined)
    }, this.#limit.ms).unref()
  }
}

function untraced<T>(_text: string, run: () => Promise<T>): Promise<T> {
  return run()
}

type Savepoint = Parameters<NonNullable<Driver['savepoint']>>

/** Hands out leases of the connections of a driver, whose `releaseConnection` must end an open transaction. */
export class LeasingDriver implements Driver {
  readonly #driver: Driver
  readonly #port: string
  readonly #options: LeaseOptions

  /** Errors inside a transaction name the port. */
  constructor(driver: Driver, port: string, options: LeaseOptions) {
    this.#driver = driver
    this.#port = port
    this.#options = options
  }

  init(options?: AbortableOperationOptions): Promise<void> {
    return this.#driver.init(options)
  }

  async acquireConnection(options?: AbortableOperationOptions): Promise<Lease> {
    assertNoTransaction(this.#port)
    const connection = await this.#driver.acquireConnection(options)
    return new Lease(connection, this.#options, () => this.#driver.releaseConnection(connection))
  }

  releaseConnection(lease: Lease): Promise<void> {
    return lease.release()
  }

  async beginTransaction(lease: Lease, settings: TransactionSettings): Promise<void> {
    await this.#driver.beginTransaction(lease.held(), settings)
  }

  commitTransaction(lease: Lease): Promise<void> {
    return lease.finish('COMMIT', (connection) => this.#driver.commitTransaction(connection))
  }

  async rollbackTransaction(lease: Lease): Promise<void> {
    if (!lease.isOver) await lease.finish('ROLLBACK', (connection) => this.#driver.rollbackTransaction(connection))
  }

  savepoint(...args: Savepoint): Promise<void> {
    return execute(args, sql`SAVEPOINT ${sql.id(args[1])}`)
  }

  rollbackToSavepoint(...args: Savepoint): Promise<void> {
    return execute(args, sql`ROLLBACK TO ${sql.id(args[1])}`)
  }

  releaseSavepoint(...args: Savepoint): Promise<void> {
    return execute(args, sql`RELEASE ${sql.id(args[1])}`)
  }

  destroy(options?: AbortableOperationOptions): Promise<void> {
    return this.#driver.destroy(options)
  }
}

async function execute([connection, , compile]: Savepoint, statement: RawBuilder<unknown>): Promise<void> {
  await connection.executeQuery(compile(statement.toOperationNode(), createQueryId()))
}
