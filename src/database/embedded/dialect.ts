import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { type PGlite, parse, protocol, type Results } from '@electric-sql/pglite'
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { LRUCache } from 'lru-cache'
import { EmbeddedStoreFailed } from '../errors.ts'

const quoted = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

/** Formats an array as PostgreSQL array text (PostgreSQL documentation, "Array Input and Output Syntax"). */
const arrayText = (values: readonly unknown[]): string => `{${values.map(elementText).join(',')}}`

const elementText = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return arrayText(value)
  if (ArrayBuffer.isView(value)) return quoted(`\\x${bytesOf(value).toString('hex')}`)
  return quoted(String(wireValue(value)))
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/**
 * Formats a parameter as node-postgres does. Binary data is sent as bytes. Any other value is sent as text, which
 * PostgreSQL converts to the parameter's type.
 */
const wireValue = (value: unknown): string | ArrayBufferView | null => {
  if (value === null || value === undefined) return null
  if (ArrayBuffer.isView(value)) return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return arrayText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const { serialize } = protocol

/** Maximum number of prepared statements. A prepared statement uses tens of kilobytes of memory. */
const maxStatements = 250

/** Called once, when PGlite panics for the first time. */
export type OnPanic = (panicked: EmbeddedStoreFailed) => void

const isPanic = (error: unknown): boolean => error instanceof Error && 'severity' in error && error.severity === 'PANIC'

/**
 * The only connection to PGlite. PGlite's `query` method calls WebAssembly five times per statement, and parses and
 * plans the statement each time. This class sends all messages of the extended query protocol (PostgreSQL
 * documentation, "Message Flow") in one batch and reuses prepared statements. A statement then takes a quarter of the
 * time.
 */
class EmbeddedConnection implements DatabaseConnection {
  readonly #pglite: PGlite
  readonly #onPanic: OnPanic
  readonly #names = new LRUCache<string, string>({ max: maxStatements, dispose: (name) => this.#unused.push(name) })
  /** Names of prepared statements to close when the next statement is sent. */
  readonly #unused: string[] = []
  #nameCount = 0
  /**
   * Set after a panic. A PostgreSQL server would restart. PGlite would keep its locks, and the next statement would
   * block this thread forever.
   */
  #panicked: EmbeddedStoreFailed | undefined
  /** The BEGIN statement of a new transaction. It is sent in one batch with the first statement of the transaction. */
  #pendingBegin = ''

  constructor(pglite: PGlite, onPanic: OnPanic) {
    this.#pglite = pglite
    this.#onPanic = onPanic
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows = 0 } = await this.#run(sql, parameters)
    // Kysely's driver interface lets the caller declare the row type without a check.
    return { rows: rows as R[], numAffectedRows: BigInt(affectedRows) }
  }

  begin(statement: string): void {
    this.#pendingBegin = statement
  }

  /**
   * Ends the transaction and returns PGlite's command tag. A COMMIT returns `ROLLBACK` if a statement in the
   * transaction failed.
   */
  async end(statement: 'COMMIT' | 'ROLLBACK'): Promise<string | undefined> {
    const isEmpty = this.#pendingBegin !== ''
    this.#pendingBegin = ''
    return isEmpty ? statement : (await this.#run(statement, [])).command
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('PGlite does not support cursors')
  }

  #panic(cause: unknown): EmbeddedStoreFailed {
    this.#panicked = new EmbeddedStoreFailed(cause)
    this.#onPanic(this.#panicked)
    return this.#panicked
  }

  async #run(sql: string, parameters: readonly unknown[]): Promise<Results> {
    if (this.#panicked) throw this.#panicked
    const values = parameters.map(wireValue)
    const known = this.#names.get(sql)
    const name = known ?? `s${this.#nameCount++}`
    const bytes = Buffer.concat([
      ...(this.#pendingBegin === '' ? [] : [serialize.query(this.#pendingBegin)]),
      ...this.#unused.splice(0).map((each) => serialize.close({ type: 'S', name: each })),
      ...(known === undefined ? [serialize.parse({ name, text: sql })] : []),
      serialize.bind({ statement: name, values }),
      serialize.describe({ type: 'P' }),
      serialize.execute({}),
      serialize.sync(),
    ])
    this.#pendingBegin = ''
    // PGlite writes directly to files, so `syncToFs` has no work to do.
    const messages = await this.#pglite.execProtocolStream(bytes, { syncToFs: false }).catch((error: unknown) => {
      if (isPanic(error)) throw this.#panic(error)
      // PGlite may have prepared the statement before the statement failed. Closing an unknown name has no effect.
      if (known === undefined) this.#unused.push(name)
      throw error
    })
    if (known === undefined) this.#names.set(sql, name)
    return parse.parseResults(messages, this.#pglite.parsers).at(-1) ?? { rows: [], fields: [] }
  }
}

/** Maximum time between two yields to the event loop, in milliseconds. */
const yieldAfterMs = 20

/**
 * Gives the only connection to one caller at a time, in the order of the calls. A caller keeps the connection for one
 * statement or for a whole transaction.
 */
class EmbeddedDriver implements Driver {
  readonly #connection: EmbeddedConnection
  #last: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined
  #yieldedAt = performance.now()

  constructor(pglite: PGlite, onPanic: OnPanic) {
    this.#connection = new EmbeddedConnection(pglite, onPanic)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<EmbeddedConnection> {
    const turn = Promise.withResolvers<void>()
    const before = this.#last
    this.#last = turn.promise
    await before
    // PGlite runs in this thread. Without a yield, a caller with many statements would block all incoming requests.
    if (performance.now() - this.#yieldedAt >= yieldAfterMs) {
      await nextLoopTurn()
      this.#yieldedAt = performance.now()
    }
    this.#release = turn.resolve
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#release()
  }

  async beginTransaction(_connection: EmbeddedConnection, { isolationLevel, accessMode }: TransactionSettings) {
    const level = isolationLevel ? ` ISOLATION LEVEL ${isolationLevel}` : ''
    this.#connection.begin(`BEGIN${level}${accessMode ? ` ${accessMode}` : ''}`)
  }

  async commitTransaction(): Promise<void> {
    if ((await this.#connection.end('COMMIT')) !== 'COMMIT') throw new AbortedTransactionError()
  }

  async rollbackTransaction(): Promise<void> {
    await this.#connection.end('ROLLBACK')
  }

  async destroy(): Promise<void> {}
}

/**
 * Returns a Kysely dialect for PGlite. The caller opens and closes PGlite. Do not close PGlite after a panic, because
 * `close` would hang.
 */
export const embeddedDialect = (pglite: PGlite, onPanic: OnPanic = () => undefined): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new EmbeddedDriver(pglite, onPanic),
  createIntrospector: (database) => new PostgresIntrospector(database),
  createQueryCompiler: () => new PostgresQueryCompiler(),
})
