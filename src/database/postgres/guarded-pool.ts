import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isReadOnly, NoConnection, sqlState } from '../errors.ts'
import { createFailover, type Failover } from './failover.ts'
import { defaultBegin } from './session.ts'
import { statementNames } from './statement-names.ts'

const begins = /^(begin|start transaction)\b/i
/** One that says no level of its own. */
const isDefaultBegin = /^begin$/i
const ends = /^(commit|rollback)$/i

/** A change of the schema has changed what a statement answers, and the connection knows it by its old plan. */
const outdatedPlan = '0A000'

const valueOrThrow = <T>(settled: PromiseSettledResult<T>): T => {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

type NameOf = (text: string) => string | undefined

/**
 * A connection that is thrown away once it has failed for a reason that the server did not give (it fell silent, it
 * broke): whoever got it next would wait behind the lost answer. One that may only read goes too, and all others with it.
 *
 * With a preamble (`SET LOCAL …`) every transaction begins with it, and a statement outside of one gets a transaction
 * of its own, sent in one go: behind a pooler each transaction may run on another connection of the server's.
 */
const guardClient = (
  client: PoolClient,
  preamble: string | null,
  nameOf: NameOf,
  renewal: Failover,
): PostgresPoolClient => {
  let broken = false
  let inTransaction = false

  const ask = <R>(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<R>> => {
    // Without values a text may hold several statements.
    const asked =
      values.length === 0 ? client.query(text) : client.query({ name: nameOf(text), text, values: [...values] })
    return asked.catch((error: unknown) => {
      const state = sqlState(error)
      if (state === undefined || state === outdatedPlan || isReadOnly(error)) broken = true
      if (isReadOnly(error)) renewal.begin()
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
      return ask(`${isDefaultBegin.test(text) ? defaultBegin : text}; ${preamble}`)
    }
    const all = await Promise.allSettled([ask(`${defaultBegin}; ${preamble}`), ask<R>(text, values), ask('COMMIT')])
    const [begun, result, committed] = all
    valueOrThrow(begun)
    const answer = valueOrThrow(result)
    valueOrThrow(committed)
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
  return { query, release: (destroy) => client.release(destroy || broken || renewal.isOutdated(client)) }
}

/** The pool as Kysely takes it. */
export const guardedPool = (pool: Pool, preamble: string | null): PostgresPool => {
  // Behind a pooler the next transaction may run on a connection that has never heard of a name.
  const nameOf: NameOf = preamble === null ? statementNames() : () => undefined
  const renewal = createFailover(pool)
  return {
    options: pool.options,
    connect: async () => {
      try {
        return guardClient(await renewal.connect(), preamble, nameOf, renewal)
      } catch (cause) {
        throw new NoConnection(cause)
      }
    },
    end: () => pool.end(),
  }
}
