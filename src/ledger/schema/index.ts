import { sqlMigration } from '../../database/index.ts'
import { accounts } from './accounts.ts'
import { dailyUsage } from './daily-usage.ts'
import { entries } from './entries.ts'
import { execute } from './execute.ts'
import { holds } from './holds.ts'
import { idempotency } from './idempotency.ts'
import { orderJson, orders } from './orders.ts'
import { sandbox } from './sandbox.ts'
import { validate } from './validate.ts'
import { write } from './write.ts'

/** The result of the latest integrity check, in a single row. One replica writes the row, and all replicas read it. */
const ledgerCheck = `CREATE TABLE ledger_check (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    checked_at timestamptz NOT NULL,
    rule text,
    subject text,
    violations bigint NOT NULL,
    CHECK ((rule IS NULL) = (violations = 0)),
    CHECK ((rule IS NULL) = (subject IS NULL))
  )`

/**
 * The tables and functions of the ledger. Constraints and triggers enforce the invariants of double entry, even for SQL
 * that does not come from this code. Start reading at accounts.ts and entries.ts. execute.ts runs a money command.
 */
export const migrations = [
  sqlMigration('001-baseline', [
    ...accounts,
    ...entries,
    ...orders,
    ...holds,
    ...sandbox,
    ...dailyUsage,
    ...idempotency,
    ...orderJson,
    ...validate,
    ...write,
    ...execute,
    ledgerCheck,
  ]),
]
