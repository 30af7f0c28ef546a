import { sqlMigration } from '../../database/index.ts'
import { accounts } from './accounts.ts'
import { dailyUsage } from './daily-usage.ts'
import { entries } from './entries.ts'
import { execute } from './execute.ts'
import { holds } from './holds.ts'
import { idempotency } from './idempotency.ts'
import { ledgerCheck } from './ledger-check.ts'
import { orderJson } from './order-json.ts'
import { orders } from './orders.ts'
import { sandbox } from './sandbox.ts'
import { validate } from './validate.ts'
import { write } from './write.ts'

/**
 * The tables and functions of the ledger. The database enforces the invariants of double entry: SQL that bypasses this code
 * cannot break them either. Start reading at `accounts.ts` and `entries.ts`; `execute.ts` runs a money command.
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
    ...ledgerCheck,
  ]),
]
