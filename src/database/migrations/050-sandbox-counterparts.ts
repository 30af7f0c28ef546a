import { type Kysely, sql } from 'kysely'
import { resolve } from './ledger/resolve.ts'

/**
 * What a SANDBOX deals with in place of the house: an account of its own per currency, of kind CLEARING, which is the
 * outside world, the liquidity and the fees in one and may go below zero. It is opened with the workspace's first wallet
 * in the currency, by the database, so that play money never reaches an account of the house, whoever writes the SQL.
 */
const statements = [
  `DO $$
  DECLARE
    v_check text;
  BEGIN
    SELECT conname INTO STRICT v_check FROM pg_constraint
     WHERE conrelid = 'ledger_accounts'::regclass AND contype = 'c'
       AND pg_get_constraintdef(oid) LIKE '%WALLET%workspace_biz_id IS NOT NULL%';
    EXECUTE format('ALTER TABLE ledger_accounts DROP CONSTRAINT %I', v_check);
  END $$`,
  `ALTER TABLE ledger_accounts ADD CONSTRAINT ledger_accounts_owner
    CHECK (CASE WHEN workspace_biz_id IS NULL THEN kind <> 'WALLET' ELSE kind IN ('WALLET', 'CLEARING') END)`,
  `CREATE UNIQUE INDEX ledger_accounts_counterpart ON ledger_accounts (workspace_biz_id, currency)
    WHERE kind = 'CLEARING' AND workspace_biz_id IS NOT NULL`,
  `CREATE FUNCTION ledger_open_counterpart() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, created_at, updated_at)
    SELECT gen_random_uuid(), NEW.workspace_biz_id, 'CLEARING', NEW.currency, NEW.created_at, NEW.created_at
      FROM workspaces WHERE biz_id = NEW.workspace_biz_id AND workspace_kind = 'SANDBOX'
    ON CONFLICT (workspace_biz_id, currency) WHERE kind = 'CLEARING' AND workspace_biz_id IS NOT NULL DO NOTHING;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER ledger_open_counterpart AFTER INSERT ON ledger_accounts
    FOR EACH ROW WHEN (NEW.kind = 'WALLET') EXECUTE FUNCTION ledger_open_counterpart()`,
  resolve,
  // A sandbox that is there already takes over from the house what its wallets have.
  `INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, created_at, updated_at)
    SELECT gen_random_uuid(), a.workspace_biz_id, 'CLEARING', a.currency, min(a.created_at), min(a.created_at)
      FROM ledger_accounts a JOIN workspaces w ON w.biz_id = a.workspace_biz_id AND w.workspace_kind = 'SANDBOX'
     GROUP BY a.workspace_biz_id, a.currency`,
  `WITH taken AS (
    SELECT c.biz_id AS counterpart, h.biz_id AS house, gen_random_uuid() AS transaction, c.currency, sum(a.balance) AS amount,
           greatest(now(), max(h.last_entry_at)) AS at
      FROM ledger_accounts c
      JOIN ledger_accounts a ON a.workspace_biz_id = c.workspace_biz_id AND a.currency = c.currency AND a.kind = 'WALLET'
      JOIN ledger_accounts h ON h.workspace_biz_id IS NULL AND h.kind = 'CLEARING' AND h.currency = c.currency
     WHERE c.kind = 'CLEARING' AND c.workspace_biz_id IS NOT NULL
     GROUP BY c.biz_id, h.biz_id, c.currency HAVING sum(a.balance) <> 0)
  INSERT INTO ledger_entries (account_biz_id, biz_id, transaction_biz_id, currency, amount, flow_type, created_at)
    SELECT counterpart, gen_random_uuid(), transaction, currency, -amount, 'OPENING', at FROM taken
    UNION ALL SELECT house, gen_random_uuid(), transaction, currency, amount, 'OPENING', at FROM taken`,
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(database)
}
