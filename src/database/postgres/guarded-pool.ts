import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isReadOnly, isServerFailure, isSilent, NoConnection, sqlState } from '../errors.ts'
import type { ServerWatch } from '../port.ts'
import { isListQuery } from '../queries.ts'
import { PipeliningClient } from './client.ts'
import { Failover } from './failover.ts'
import { defaultBegin } from './session.ts'

/** A prepared statement uses about 20 KB in the server process of the connection. */
const maxNames = 300

/** A connection parses a named statement once and can reuse its plan (PostgreSQL documentation, PREPARE). */
class StatementNames {
  readonly #names = new Map<string, string>()

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= maxNames || isListQuery(text)) return known
    const name = `portico-${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}

const begins = /^(begin|start transaction)\b/i
const isDefaultBegin = /^begin$/i
const ends = /^(commit|rollback)$/i

/** feature_not_supported: a migration changed the columns of a statement that this connection has prepared. */
const outdatedPlan = '0A000'

interface Shared {
  watch: ServerWatch
  /** `SET LOCAL …` statements of each transaction behind a pooler. Null on a direct connection. */
  preamble: string | null
  names: StatementNames | null
  failover: Failover
}

/**
 * After a failure that the server did not report, such as a timeout, the next caller could receive the late response.
 * `release` therefore closes the connection.
 *
 * Sends BEGIN together with the first statement of a transaction, which saves a round trip.
 *
 * Behind a pooler, each transaction can run in a different session and therefore starts with the preamble.
 */
class GuardedClient implements PostgresPoolClient {
  readonly #client: PoolClient
  readonly #shared: Shared
  #isBroken = false
  #inFlight = 0
  #isInTransaction = false
  /** Null if the server knows of the transaction. */
  #pendingBegin: string | null = null

  constructor(client: PoolClient, shared: Shared) {
    this.#client = client
    this.#shared = shared
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    text: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof text !== 'string') throw new Error('cursors are not supported')
    return this.#run<R>(text, values)
  }

  /** The next caller must get no transaction and no statement of this one. */
  release(destroy?: boolean): void {
    const isBusy = this.#inFlight > 0 || this.#isInTransaction
    this.#client.release(destroy || isBusy || this.#isBroken || this.#shared.failover.isRetired(this.#client))
    // `pg` would wait for the statements.
    if (isBusy && this.#client instanceof PipeliningClient) this.#client.connection.stream.destroy()
  }

  #send<R>(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (this.#client instanceof PipeliningClient) this.#client.batch()
    // Only a query without parameters can contain several statements.
    const sent =
      values.length === 0
        ? this.#client.query(text)
        : this.#client.query({ name: this.#shared.names?.nameOf(text), text, values: [...values] })
    this.#inFlight++
    return sent.then(
      (result) => {
        this.#inFlight--
        return result
      },
      (error: unknown) => {
        this.#inFlight--
        if (isServerFailure(error)) this.#shared.watch.failed(error)
        const state = sqlState(error)
        if (state === undefined || state === outdatedPlan || isReadOnly(error)) this.#isBroken = true
        if (isReadOnly(error) || isSilent(error)) this.#shared.failover.retireConnections()
        throw error
      },
    ) as Promise<PostgresQueryResult<R>>
  }

  /** Sends all messages before the first `await`, so that the caller can send the next statement. */
  async #run<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    const { preamble } = this.#shared
    if (begins.test(text)) {
      this.#isInTransaction = true
      this.#pendingBegin = preamble === null ? text : `${isDefaultBegin.test(text) ? defaultBegin : text}; ${preamble}`
      return resultWithoutQuery('SELECT')
    }
    const isInTransaction = this.#isInTransaction
    if (ends.test(text)) this.#isInTransaction = false
    const begin = this.#pendingBegin
    this.#pendingBegin = null
    if (begin !== null && ends.test(text)) return resultWithoutQuery(/^commit$/i.test(text) ? 'COMMIT' : 'ROLLBACK')
    if (begin !== null) return this.#sendAll(begin, text, values)
    if (isInTransaction || preamble === null) return this.#send(text, values)
    return this.#sendAll(`${defaultBegin}; ${preamble}`, text, values, 'COMMIT')
  }

  async #sendAll<R>(
    begin: string,
    text: string,
    values: readonly unknown[],
    ...commit: string[]
  ): Promise<PostgresQueryResult<R>> {
    const [begun, result, ...committed] = await Promise.allSettled([
      this.#send(begin),
      this.#send<R>(text, values),
      ...commit.map((each) => this.#send(each)),
    ])
    valueOrThrow(begun)
    const rows = valueOrThrow(result)
    committed.forEach(valueOrThrow)
    return rows
  }
}

export function createGuardedPool(pool: Pool, preamble: string | null, watch: ServerWatch): PostgresPool {
  // A pooler may run the next transaction in another session, which lacks the prepared statements.
  const names = preamble === null ? new StatementNames() : null
  const shared = { watch, preamble, names, failover: new Failover(pool) }
  return {
    options: pool.options,
    connect: async () => {
      try {
        const client = await shared.failover.connect()
        watch.works()
        return new GuardedClient(client, shared)
      } catch (cause) {
        const error = new NoConnection(cause)
        watch.failed(error)
        throw error
      }
    },
    end: () => pool.end(),
  }
}

function resultWithoutQuery<R>(command: PostgresQueryResult<R>['command']): PostgresQueryResult<R> {
  return {
    command,
    rowCount: 0,
    rows: [],
  }
}

function valueOrThrow<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}
