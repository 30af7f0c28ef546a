import { type PGlite, parse, protocol, type Results } from '@electric-sql/pglite'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'
import { EmbeddedStoreFailed } from '../errors.ts'
import { wireValue } from './wire-format.ts'

const { serialize } = protocol

/** So many statements are kept parsed and planned by the store, each with some tens of KB. */
const maxStatements = 250

/** Hears once of it. */
export type OnPanic = (panicked: EmbeddedStoreFailed) => void

const isPanic = (error: unknown): boolean => error instanceof Error && 'severity' in error && error.severity === 'PANIC'

/**
 * PGlite's one connection. PGlite's own `query` enters WebAssembly five times for a statement and has it parsed and
 * planned anew each time. Here all messages of the extended query protocol (PostgreSQL's documentation, «Message Flow»)
 * go in at once, and a statement that was met before goes by its name: together a quarter of the time.
 */
export class EmbeddedConnection implements DatabaseConnection {
  readonly #pglite: PGlite
  readonly #onPanic: OnPanic
  readonly #names = new LRUCache<string, string>({ max: maxStatements, dispose: (name) => this.#unused.push(name) })
  /** Names that the store forgets with the next statement. */
  readonly #unused: string[] = []
  #named = 0
  /** A server would start anew by itself. PGlite keeps the locks that it held, and waits for them without end, in this thread. */
  #panicked: EmbeddedStoreFailed | undefined
  /** What opens the transaction that has been begun, and goes with its first statement. */
  #opening = ''

  constructor(pglite: PGlite, onPanic: OnPanic) {
    this.#pglite = pglite
    this.#onPanic = onPanic
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows = 0 } = await this.#run(sql, parameters)
    // The rows are what whoever writes the statement says they are, as with every driver.
    return { rows: rows as R[], numAffectedRows: BigInt(affectedRows) }
  }

  begin(statement: string): void {
    this.#opening = statement
  }

  /** Answers how the transaction has ended: COMMIT only if nothing in it has failed. */
  async end(statement: 'COMMIT' | 'ROLLBACK'): Promise<string | undefined> {
    const isEmpty = this.#opening !== ''
    this.#opening = ''
    return isEmpty ? statement : (await this.#run(statement, [])).command
  }

  streamQuery(): AsyncIterableIterator<never> {
    throw new Error('PGlite hands out no rows one by one')
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
    const name = known ?? `s${this.#named++}`
    const bytes = Buffer.concat([
      ...(this.#opening === '' ? [] : [serialize.query(this.#opening)]),
      ...this.#unused.splice(0).map((each) => serialize.close({ type: 'S', name: each })),
      ...(known === undefined ? [serialize.parse({ name, text: sql })] : []),
      serialize.bind({ statement: name, values }),
      serialize.describe({ type: 'P' }),
      serialize.execute({}),
      serialize.sync(),
    ])
    this.#opening = ''
    // Files are written through; there is nothing to be brought to a slower store.
    const messages = await this.#pglite.execProtocolStream(bytes, { syncToFs: false }).catch((error: unknown) => {
      if (isPanic(error)) throw this.#panic(error)
      // It may have been parsed before it failed. To forget a name that is none does no harm.
      if (known === undefined) this.#unused.push(name)
      throw error
    })
    if (known === undefined) this.#names.set(sql, name)
    return parse.parseResults(messages, this.#pglite.parsers).at(-1) ?? { rows: [], fields: [] }
  }
}
