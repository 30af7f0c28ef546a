import { sqlMigration } from '../../database/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import { partitionBy } from '../../platform/partitions/index.ts'
import { accounts } from './accounts.ts'
import { duties, formerDeciders, formerMembers } from './duties.ts'
import { entries } from './entries.ts'
import { databaseClock, execute } from './execute.ts'
import { holds } from './holds.ts'
import { idempotency, oneInstantPerTransaction } from './idempotency.ts'
import { operatorLists, orderLists, orderReferences, orderTotals } from './order-lists.ts'
import { orderChanges, orderJson, orders, ordersGuard } from './orders.ts'
import { sandbox } from './sandbox.ts'
import type {} from './tables.ts'
import { corrections, types } from './types.ts'
import { oneOutgoingSum, usage, usageOfMoves } from './usage.ts'
import { objection, objectionToClosed, validate } from './validate.ts'
import { returnedLimits, write } from './write.ts'

/** Its successor is `objection` in validate.ts. */
const objectionByRank = `CREATE FUNCTION ledger_objection(ids uuid[], locked ledger_accounts[], command jsonb, freed jsonb)
  RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_party jsonb; v_account ledger_accounts; v_one ledger_accounts; v_effect numeric; v_rank integer;
    v_worst integer := 5; v_at integer; v_tenant uuid; v_other workspaces;
  BEGIN
    FOR i IN 1 .. cardinality(ids) LOOP
      v_party := command->'accounts'->(i - 1);
      v_account := NULL;
      FOREACH v_one IN ARRAY locked LOOP
        IF v_one.biz_id = ids[i] THEN v_account := v_one; END IF;
      END LOOP;
      v_rank := 5;
      IF v_account.biz_id IS NULL OR (v_account.kind = 'WALLET') = (v_party ? 'house')
         OR v_account.workspace_biz_id <> (v_party->>'workspace')::uuid THEN
        v_rank := 1;
      ELSIF v_account.currency <> v_party->>'currency' THEN
        v_rank := 2;
      ELSIF (v_party->>'active')::boolean AND v_account.status <> 'ACTIVE' THEN
        v_rank := 3;
      ELSIF v_account.kind <> 'CLEARING' THEN
        v_effect := ledger_effect(ids[i], ids, command);
        IF v_effect < 0
           AND v_account.balance - v_account.held + coalesce((freed->>ids[i]::text)::numeric, 0) + v_effect < 0 THEN
          v_rank := 4;
        END IF;
      END IF;
      -- Wallets of LIVE and SANDBOX workspaces are invisible to each other.
      IF v_rank > 1 AND v_account.workspace_biz_id <> v_tenant THEN
        SELECT * INTO v_other FROM workspaces WHERE biz_id = v_account.workspace_biz_id;
        IF (SELECT workspace_kind FROM workspaces WHERE biz_id = v_tenant) <> v_other.workspace_kind THEN
          v_rank := 1;
        ELSIF v_rank > 3 AND (v_party->>'active')::boolean AND v_other.workspace_status <> 'ACTIVE' THEN
          v_rank := 3;
        END IF;
      END IF;
      v_tenant := coalesce(v_tenant, v_account.workspace_biz_id);
      IF v_rank < v_worst THEN v_worst := v_rank; v_at := i - 1; END IF;
    END LOOP;
    IF v_worst = 5 THEN RETURN NULL; END IF;
    RETURN jsonb_build_object(
      'outcome', (ARRAY['NOT_FOUND', 'CURRENCY_MISMATCH', 'NOT_ACTIVE', 'INSUFFICIENT_FUNDS'])[v_worst],
      'account', v_at);
  END $$`

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

/** A total by direction or type would otherwise read each entry, or the whole table. */
const flowTotals = [
  `CREATE INDEX IF NOT EXISTS ledger_entries_flows ON ledger_entries (account_biz_id, created_at)
    INCLUDE (amount, flow_type)`,
  `DROP INDEX ledger_entries_at`,
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
    objectionByRank,
    ...write,
    ...execute,
    ledgerCheck,
  ]),
  sqlMigration('002-order-lists', orderLists),
  sqlMigration('003-recent-changes', recentChanges),
  sqlMigration('004-former-members', formerMembers),
  sqlMigration('005-one-outgoing-sum', oneOutgoingSum),
  sqlMigration('006-former-deciders', formerDeciders),
  sqlMigration('007-outcomes-by-name', [objection]),
  sqlMigration('008-corrections', [...corrections, ordersGuard('CREATE OR REPLACE'), returnedLimits, ...usageOfMoves]),
  sqlMigration('009-database-clock', databaseClock),
  sqlMigration('010-closed-wallets', [objectionToClosed]),
  sqlMigration('011-order-references', orderReferences),
  sqlMigration('012-operator-lists', operatorLists),
  sqlMigration('013-order-events', orderChanges),
  sqlMigration(
    '014-wallet-events',
    recordChanges(
      'ledger_accounts',
      ['status'],
      ['biz_id', 'workspace_biz_id', 'kind', 'status', 'created_at', 'updated_at'],
    ),
  ),
  sqlMigration('015-one-instant-per-transaction', [oneInstantPerTransaction]),
  sqlMigration('016-order-totals', orderTotals),
  sqlMigration('017-flow-totals', flowTotals),
  // The trigger on entries counts under the lock of the account, which no other statement can change.
  sqlMigration('018-partitions', partitionBy('ledger_entries', 'created_at')),
  sqlMigration('019-archive', [
    `CREATE TABLE ledger_archive (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), until timestamptz NOT NULL)`,
    `CREATE TABLE ledger_archived_balances (
      account_biz_id uuid PRIMARY KEY REFERENCES ledger_accounts,
      currency text NOT NULL,
      sequence bigint NOT NULL,
      balance minor_units NOT NULL,
      last_entry_at timestamptz NOT NULL,
      opening minor_units NOT NULL
    )`,
    `CREATE TRIGGER ledger_archived_balances_append_only BEFORE DELETE OR TRUNCATE ON ledger_archived_balances
      FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
  ]),
]
