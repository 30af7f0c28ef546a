import { type Kysely, sql } from 'kysely'
import { accounts } from './ledger/accounts.ts'
import { entries } from './ledger/entries.ts'
import { execute } from './ledger/execute.ts'
import { holds } from './ledger/holds.ts'
import { idempotency } from './ledger/idempotency.ts'
import { orderJson } from './ledger/order-json.ts'
import { orders } from './ledger/orders.ts'
import { steps } from './ledger/steps.ts'
import { writing } from './ledger/writing.ts'

/** The book. Its invariants are the database's own: SQL that goes round our code cannot break them either. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  const statements = [accounts, entries, orders, holds, idempotency, orderJson, steps, writing, execute].flat()
  for (const statement of statements) await sql.raw(statement).execute(database)
}
