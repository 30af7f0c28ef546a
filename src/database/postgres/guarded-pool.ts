import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isReadOnly, NoConnection, sqlState } from '../errors.ts'
import { Failover } from './failover.ts'
import { defaultBegin } from './session.ts'

/**
 * Maximum number of prepared statements per connection. A prepared statement uses about 20 KB in the server process of
 * the connection.
 */
const maxNames = 300

/**
 * Whether a query reads a page of a list or counts a list. PostgreSQL must plan such a query for the workspace and page
 * at hand. A prepared statement can use a generic plan, which suits the average workspace. A generic plan for a page of
 * twenty rows read half a million rows of a large workspace.
 */
const isListQuery = (text: string): boolean =>
  text.includes(' offset $') || text.startsWith('select count(*) as "total"')

/**
 * Assigns names to prepared statements. A connection parses a named statement once and can reuse its plan (PostgreSQL
 * documentation, PREPARE). List queries, and statements beyond the maximum, get no name. PostgreSQL plans them each
 * time.
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
/** Matches a BEGIN without an isolation level. */
const isDefaultBegin = /^begin$/i
const ends = /^(commit|rollback)$/i

/**
 * SQLSTATE feature_not_supported. PostgreSQL returns it if a migration changed the columns of a statement that this
 * connection has already prepared.
 */
const outdatedPlan = '0A000'

const valueOrThrow = <T>(settled: PromiseSettledResult<T>): T => {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

interface Shared {
  /** `SET LOCAL …` statements to send at the start of each transaction behind a pooler. Null on a direct connection. */
  preamble: string | null
  names: StatementNames | null
  failover: Failover
}

/**
 * A pooled connection. After a failure that the server did not report, such as a timeout, the connection is unsafe to
 * reuse. The next caller could receive the late response to the failed query. `release` therefore closes the
 * connection. If the server reports that it is read-only, all other pooled connections are retired, too.
 *
 * Behind a pooler, every transaction starts with the preamble, because a pooler can run each transaction in a different
 * session. A statement outside a transaction is sent in one batch with BEGIN, the preamble and COMMIT.
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
    // PostgreSQL accepts several statements in one query only if the query has no parameters.
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

/**
 * Returns a `pg` pool as the pool interface of Kysely's dialect. `connect` rejects with `NoConnection` if no connection
 * is available.
 */
export const createGuardedPool = (pool: Pool, preamble: string | null): PostgresPool => {
  // Do not prepare statements behind a pooler. The pooler may run the next transaction in another session, which does
  // not have the prepared statements.
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
