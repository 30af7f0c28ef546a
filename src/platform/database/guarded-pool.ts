import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { sqlState } from './fault.ts'

const begins = /^(begin|start transaction)\b/i
const ends = /^(commit|rollback)$/i

const outcomeOf = <T>(settled: PromiseSettledResult<T>): T => {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/**
 * A connection that is thrown away once it has failed for a reason that the server did not give (it fell silent, it
 * broke): whoever got it next would wait behind the lost answer.
 *
 * With a preamble (`SET LOCAL …`) every transaction begins with it, and a statement outside of one gets a transaction
 * of its own, sent in one go: behind a pooler each transaction may run on another connection of the server's.
 */
const guarded = (client: PoolClient, preamble: string | null): PostgresPoolClient => {
  let broken = false
  let inTransaction = false

  const ask = <R>(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<R>> => {
    // Without values a text may hold several statements.
    const asked = values.length === 0 ? client.query(text) : client.query(text, [...values])
    return asked.catch((error: unknown) => {
      if (sqlState(error) === undefined) broken = true
      throw error
    }) as Promise<PostgresQueryResult<R>>
  }

  const withPreamble = async <R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>> => {
    if (inTransaction) {
      inTransaction = !ends.test(text)
      return ask(text, values)
    }
    if (begins.test(text)) {
      inTransaction = true
      return ask(`${text}; ${preamble}`)
    }
    const all = await Promise.allSettled([ask(`BEGIN; ${preamble}`), ask<R>(text, values), ask('COMMIT')])
    const [begun, result, committed] = all
    outcomeOf(begun)
    const answer = outcomeOf(result)
    outcomeOf(committed)
    return answer
  }

  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  function query<R>(
    text: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof text !== 'string') throw new Error('cursors are not used')
    return preamble === null ? ask<R>(text, values) : withPreamble<R>(text, values)
  }
  return { query, release: (destroy) => client.release(destroy || broken) }
}

/** The pool as Kysely takes it. */
export const guardedPool = (pool: Pool, preamble: string | null): PostgresPool => ({
  options: pool.options,
  connect: async () => guarded(await pool.connect(), preamble),
  end: () => pool.end(),
})
