import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { messages, type PGlite, parse, protocol, type Results } from '@electric-sql/pglite'
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { LRUCache } from 'lru-cache'
import { ColumnCompiler, renameFields } from '../column-names.ts'
import { EmbeddedStoreBusy, EmbeddedStoreFailed } from '../errors.ts'
import { holdLimit, LeasingDriver, type TraceStatement } from '../lease.ts'
import { isListQuery } from '../queries.ts'

const { serialize } = protocol

/** The next statement replaces it. */
const unnamed = ''

/** A prepared statement uses tens of kilobytes of memory. */
const maxStatements = 250

/** Called once, at the first panic. */
export type OnPanic = (panicked: EmbeddedStoreFailed) => void

/**
 * PGlite's `query` method makes five WebAssembly calls per statement, and parses and plans the statement on every
 * execution. One batch of the extended query protocol (PostgreSQL documentation, "Message Flow") with a prepared
 * statement takes a quarter of the time.
 */
class EmbeddedConnection implements DatabaseConnection {
  readonly #pglite: PGlite
  readonly #onPanic: OnPanic
  readonly #names = new LRUCache<string, string>({ max: maxStatements, dispose: (name) => this.#unused.push(name) })
  readonly #unused: string[] = []
  #nameCount = 0
  /** After a panic, PGlite keeps its locks, and the next statement would block this thread forever. */
  #panicked: EmbeddedStoreFailed | undefined
  /** Sent in one batch with the first statement of the transaction. */
  #pendingBegin = ''
  #isInTransaction = false
  #last: Promise<unknown> = Promise.resolve()

  constructor(pglite: PGlite, onPanic: OnPanic) {
    this.#pglite = pglite
    this.#onPanic = onPanic
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows = 0 } = await this.#run(sql, parameters)
    // Kysely does not check the row type that its caller declares.
    return { rows: rows as R[], numAffectedRows: BigInt(affectedRows) }
  }

  begin(statement: string): void {
    this.#pendingBegin = statement
    this.#isInTransaction = true
  }

  get isInTransaction(): boolean {
    return this.#isInTransaction
  }

  /** The tag of a COMMIT is `ROLLBACK` if a statement in the transaction failed. */
  async end(statement: 'COMMIT' | 'ROLLBACK'): Promise<string | undefined> {
    const isEmpty = this.#pendingBegin !== ''
    this.#pendingBegin = ''
    this.#isInTransaction = false
    // A COMMIT that cannot write the log panics. A `sync` behind it would commit again, and wait for its own lock forever.
    return isEmpty ? statement : (await this.#inTurn(() => this.#exchange(serialize.query(statement)))).command
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('PGlite does not support cursors')
  }

  #panic(cause: unknown): EmbeddedStoreFailed {
    this.#panicked = new EmbeddedStoreFailed(cause)
    this.#onPanic(this.#panicked)
    return this.#panicked
  }

  #run(sql: string, parameters: readonly unknown[]): Promise<Results> {
    // A value that cannot be sent must not consume BEGIN.
    const values = parameters.map(wireValue)
    const begin = this.#pendingBegin
    this.#pendingBegin = ''
    return this.#inTurn(() => this.#send(begin, sql, values))
  }

  /** PGlite mixes up the replies to concurrent batches. */
  #inTurn(send: () => Promise<Results>): Promise<Results> {
    const sent = this.#last.then(send)
    this.#last = sent.catch(() => undefined)
    return sent
  }

  async #send(begin: string, sql: string, values: (string | ArrayBufferView | null)[]): Promise<Results> {
    const known = this.#names.get(sql)
    const name = known ?? (isListQuery(sql) ? unnamed : `s${this.#nameCount++}`)
    const bytes = Buffer.concat([
      ...(begin === '' ? [] : [serialize.query(begin)]),
      ...this.#unused.splice(0).map((each) => serialize.close({ type: 'S', name: each })),
      ...(known === undefined ? [serialize.parse({ name, text: sql })] : []),
      serialize.bind({ statement: name, values }),
      serialize.describe({ type: 'P' }),
      serialize.execute({}),
      serialize.sync(),
    ])
    try {
      const results = await this.#exchange(bytes)
      if (known === undefined && name !== unnamed) this.#names.set(sql, name)
      return results
    } catch (error) {
      // PGlite may have prepared the failed statement.
      if (known === undefined && name !== unnamed) this.#unused.push(name)
      throw error
    }
  }

  async #exchange(bytes: Uint8Array): Promise<Results> {
    if (this.#panicked) throw this.#panicked
    // PGlite writes directly to files, so `syncToFs` has no work to do.
    const replies = await this.#pglite.execProtocolStream(bytes, { syncToFs: false }).catch((error: unknown) => {
      throw isPanic(error) ? this.#panic(error) : error
    })
    for (const reply of replies) if (reply instanceof messages.RowDescriptionMessage) renameFields(reply.fields)
    return parse.parseResults(replies, this.#pglite.parsers).at(-1) ?? { rows: [], fields: [] }
  }
}

const yieldAfterMs = 20

/** Callers get an error if another caller holds the connection for longer: half of the limit of a transaction. */
const maxWaitMs = 5_000

interface Waiting {
  start(): void
  reject(error: Error): void
}

/** Callers get the only connection in the order of their calls, for one statement or a whole transaction. */
export class EmbeddedStore {
  readonly #connection: EmbeddedConnection
  readonly #adapter = new PostgresAdapter()
  readonly #trace: TraceStatement | undefined
  readonly #waiting: Waiting[] = []
  #isHeld = false
  #heldSince = 0
  /** Runs only while callers wait. */
  #timer: NodeJS.Timeout | undefined
  #yieldedAt = performance.now()

  /** The caller opens and closes PGlite, but must not close it after a panic: `close` would hang. */
  constructor(pglite: PGlite, onPanic: OnPanic = () => undefined, trace?: TraceStatement) {
    this.#trace = trace
    this.#connection = new EmbeddedConnection(pglite, onPanic)
  }

  /** Number of callers that wait for the connection. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Errors inside a transaction name the port. */
  dialect(port: string, limit = holdLimit()): Dialect {
    return {
      createAdapter: () => this.#adapter,
      createDriver: () => new LeasingDriver(new EmbeddedDriver(this), port, { limit, trace: this.#trace }),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new ColumnCompiler(),
    }
  }

  async acquire(): Promise<EmbeddedConnection> {
    if (this.#isHeld) await this.#turn()
    this.#isHeld = true
    this.#heldSince = performance.now()
    // PGlite runs in this thread. Without a yield, many statements would block all requests.
    if (performance.now() - this.#yieldedAt >= yieldAfterMs) {
      await nextLoopTurn()
      this.#yieldedAt = performance.now()
    }
    return this.#connection
  }

  /** Passes the connection on, so that a new caller cannot overtake the queue. */
  release(): void {
    const next = this.#waiting.shift()
    this.#heldSince = performance.now()
    if (next) next.start()
    else this.#isHeld = false
  }

  /** The time counts only while the same caller holds the connection, so a long queue alone causes no error. */
  #turn(): Promise<void> {
    return new Promise((start, reject) => {
      this.#waiting.push({ start, reject })
      this.#timer ??= this.#failAfterHold()
    })
  }

  #failAfterHold(): NodeJS.Timeout {
    const remainingMs = Math.max(0, this.#heldSince + maxWaitMs - performance.now())
    return setTimeout(() => {
      this.#timer = undefined
      const isStuck = performance.now() - this.#heldSince >= maxWaitMs
      if (isStuck) for (const { reject } of this.#waiting.splice(0)) reject(new EmbeddedStoreBusy(maxWaitMs))
      if (this.#waiting.length > 0) this.#timer = this.#failAfterHold()
    }, remainingMs).unref()
  }
}

class EmbeddedDriver implements Driver {
  readonly #store: EmbeddedStore

  constructor(store: EmbeddedStore) {
    this.#store = store
  }

  async init(): Promise<void> {}

  acquireConnection(): Promise<EmbeddedConnection> {
    return this.#store.acquire()
  }

  /** Ends a transaction that its holder left open. */
  async releaseConnection(connection: EmbeddedConnection): Promise<void> {
    try {
      if (connection.isInTransaction) await connection.end('ROLLBACK')
    } finally {
      this.#store.release()
    }
  }

  async beginTransaction(connection: EmbeddedConnection, { isolationLevel, accessMode }: TransactionSettings) {
    const level = isolationLevel ? ` ISOLATION LEVEL ${isolationLevel}` : ''
    connection.begin(`BEGIN${level}${accessMode ? ` ${accessMode}` : ''}`)
  }

  async commitTransaction(connection: EmbeddedConnection): Promise<void> {
    if ((await connection.end('COMMIT')) !== 'COMMIT') throw new AbortedTransactionError()
  }

  async rollbackTransaction(connection: EmbeddedConnection): Promise<void> {
    await connection.end('ROLLBACK')
  }

  async destroy(): Promise<void> {}
}

/** See `EmbeddedStore`. */
export function embeddedDialect(pglite: PGlite, onPanic?: OnPanic): Dialect {
  return new EmbeddedStore(pglite, onPanic).dialect('database')
}

/** Formats a parameter as node-postgres does. */
function wireValue(value: unknown): string | ArrayBufferView | null {
  if (value === null || value === undefined) return null
  if (ArrayBuffer.isView(value)) return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return arrayText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** See "Array Input and Output Syntax" in the PostgreSQL documentation. */
function arrayText(values: readonly unknown[]): string {
  return `{${values.map(elementText).join(',')}}`
}

function elementText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return arrayText(value)
  if (ArrayBuffer.isView(value)) return quoted(`\\x${bytesOf(value).toString('hex')}`)
  return quoted(String(wireValue(value)))
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function isPanic(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'PANIC'
}
