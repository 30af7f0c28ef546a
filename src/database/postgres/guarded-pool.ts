import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isReadOnly, NoConnection, sqlState } from '../errors.ts'
import { Failover } from './failover.ts'
import { defaultBegin } from './session.ts'

/** Each prepared statement takes about 20 KB of memory in each connection's backend. */
const maxNames = 300

/**
 * Whether a query reads a page of a list or counts it. The best plan depends on the workspace and the page. A cached
 * generic plan is made for the average: one for twenty rows reads half a million rows of a large workspace.
 */
const isListQuery = (text: string): boolean =>
  text.includes(' offset $') || text.startsWith('select count(*) as "total"')

/**
 * Names for prepared statements, so that a connection parses and plans a statement once (PostgreSQL documentation,
 * PREPARE). List queries and statements beyond the maximum get no name and are planned each time.
 */
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
/** A BEGIN without an isolation level. */
const isDefaultBegin = /^begin$/i
const ends = /^(commit|rollback)$/i

/** feature_not_supported: a schema change has changed a statement's columns, and the connection has an old plan for it. */
const outdatedPlan = '0A000'

const valueOrThrow = <T>(settled: PromiseSettledResult<T>): T => {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

interface Shared {
  /** `SET LOCAL …`, the first statement of each transaction behind a pooler; null on a direct connection. */
  preamble: string | null
  names: StatementNames | null
  failover: Failover
}

/**
 * A pooled connection. It is closed, not reused, after a failure that the server did not report (a timeout, a broken
 * socket), because the next caller would receive the lost response. If a connection turns out to be read-only, all other pooled connections are closed, too.
 *
 * If there is a preamble, every transaction begins with it. A single statement is sent in one batch with BEGIN and
 * COMMIT, because a pooler may run each transaction in a different session.
 */
class GuardedClient implements PostgresPoolClient {
  readonly #client: PoolClient
  readonly #shared: Shared
  #isBroken = false
  #isInTransaction = false

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
    return this.#shared.preamble === null ? this.#send<R>(text, values) : this.#sendWithPreamble<R>(text, values)
  }

  release(destroy?: boolean): void {
    this.#client.release(destroy || this.#isBroken || this.#shared.failover.isRetired(this.#client))
  }

  #send<R>(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    // Only a text without values may hold several statements.
    const sent =
      values.length === 0
        ? this.#client.query(text)
        : this.#client.query({ name: this.#shared.names?.nameOf(text), text, values: [...values] })
    return sent.catch((error: unknown) => {
      const state = sqlState(error)
      if (state === undefined || state === outdatedPlan || isReadOnly(error)) this.#isBroken = true
      if (isReadOnly(error)) this.#shared.failover.retireConnections()
      throw error
    }) as Promise<PostgresQueryResult<R>>
  }

  async #sendWithPreamble<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    const { preamble } = this.#shared
    if (this.#isInTransaction) {
      this.#isInTransaction = !ends.test(text)
      return this.#send(text, values)
    }
    if (begins.test(text)) {
      this.#isInTransaction = true
      return this.#send(`${isDefaultBegin.test(text) ? defaultBegin : text}; ${preamble}`)
    }
    const [begun, result, committed] = await Promise.allSettled([
      this.#send(`${defaultBegin}; ${preamble}`),
      this.#send<R>(text, values),
      this.#send('COMMIT'),
    ])
    valueOrThrow(begun)
    const rows = valueOrThrow(result)
    valueOrThrow(committed)
    return rows
  }
}

/** A `pg` pool in the form that Kysely expects. Throws `NoConnection` if it cannot connect. */
export const createGuardedPool = (pool: Pool, preamble: string | null): PostgresPool => {
  // Behind a pooler the next transaction may run in a session that has not prepared the statement.
  const names = preamble === null ? new StatementNames() : null
  const shared = { preamble, names, failover: new Failover(pool) }
  return {
    options: pool.options,
    connect: async () => {
      try {
        return new GuardedClient(await shared.failover.connect(), shared)
      } catch (cause) {
        throw new NoConnection(cause)
      }
    },
    end: () => pool.end(),
  }
}
