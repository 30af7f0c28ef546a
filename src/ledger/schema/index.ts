import { sqlMigration } from '../../database/index.ts'
import { accounts } from './accounts.ts'
import { duties, formerDeciders, formerMembers } from './duties.ts'
import { entries } from './entries.ts'
import { execute } from './execute.ts'
import { holds } from './holds.ts'
import { idempotency } from './idempotency.ts'
import { orderLists } from './order-lists.ts'
import { orderJson, orders } from './orders.ts'
import { sandbox } from './sandbox.ts'
import type {} from './tables.ts'
import { types } from './types.ts'
import { oneOutgoingSum, usage } from './usage.ts'
import { validate } from './validate.ts'
import { write } from './write.ts'

/** One replica writes the single row, and all replicas read it. */
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
 * For checks of recent changes. Rows of `ledger_entries` are in the order of their times, so a BRIN index suffices. It
 * costs almost nothing when entries are written.
 */
const recentChanges = [
  `ALTER TABLE ledger_check ADD COLUMN verified_at timestamptz, ADD COLUMN whole_verified_at timestamptz`,
  `CREATE INDEX IF NOT EXISTS ledger_entries_time ON ledger_entries
    USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on)`,
  `CREATE INDEX IF NOT EXISTS ledger_holds_time ON ledger_holds
    USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on)`,
  `CREATE INDEX IF NOT EXISTS ledger_holds_end ON ledger_holds
    USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on)`,
  `CREATE INDEX IF NOT EXISTS ledger_holds_open ON ledger_holds (account_biz_id) WHERE status = 'HELD'`,
  `CREATE INDEX IF NOT EXISTS orders_update ON orders
    USING brin (updated_at) WITH (pages_per_range = 32, autosummarize = on)`,
]

/**
 * The tables and functions of the ledger. Constraints and triggers enforce double entry, even for SQL from outside this
 * code. Start reading at accounts.ts and entries.ts. execute.ts runs a money command.
 */
export const migrations = [
  sqlMigration('001-baseline', [
    ...accounts,
    ...entries,
    ...orders,
    ...types,
    ...holds,
    ...sandbox,
    ...usage,
    ...idempotency,
    ...orderJson,
    ...duties,
    ...validate,
    ...write,
    ...execute,
    ledgerCheck,
  ]),
  sqlMigration('002-order-lists', orderLists),
  sqlMigration('003-recent-changes', recentChanges),
  sqlMigration('004-former-members', formerMembers),
  sqlMigration('005-one-outgoing-sum', oneOutgoingSum),
  sqlMigration('006-former-deciders', formerDeciders),
]
