import { setImmediate as turnOfLoop } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import {
  AbortedTransactionError,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { EmbeddedConnection, type OnPanic } from './connection.ts'

/** Yield to the event loop if the last yield is longer ago than this. */
const yieldAfterMs = 20

/** Hands out the one connection in order of request, for a statement or a whole transaction. */
class EmbeddedDriver implements Driver {
  readonly #connection: EmbeddedConnection
  #last: Promise<void> = Promise.resolve()
  #release: () => void = () => undefined
  #turnedAt = performance.now()

  constructor(pglite: PGlite, onPanic: OnPanic) {
    this.#connection = new EmbeddedConnection(pglite, onPanic)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<EmbeddedConnection> {
    const turn = Promise.withResolvers<void>()
    const before = this.#last
    this.#last = turn.promise
    await before
    // PGlite runs in this thread: a caller with many statements would block all incoming requests.
    if (performance.now() - this.#turnedAt >= yieldAfterMs) {
      await turnOfLoop()
      this.#turnedAt = performance.now()
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

/** A Kysely dialect on PGlite. The caller opens and closes PGlite, but must not close it after a panic: it would hang. */
export const embeddedDialect = (pglite: PGlite, onPanic: OnPanic = () => undefined): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new EmbeddedDriver(pglite, onPanic),
  createIntrospector: (database) => new PostgresIntrospector(database),
  createQueryCompiler: () => new PostgresQueryCompiler(),
})
