import { type Kysely, sql } from 'kysely'
import { execute } from './ledger/execute.ts'
import { orderJson } from './ledger/order-json.ts'
import { legalStatus } from './ledger/orders.ts'
import { steps } from './ledger/steps.ts'
import { writing } from './ledger/writing.ts'

/**
 * The same book, written with less work: an order carries its history, so that a posting writes and reads one row
 * instead of three; the guard of accounts runs only where it may have something to refuse; unsealed entries of the audit log
 * are in no index of the sealed ones.
 */
const history = [
  `ALTER TABLE orders ADD COLUMN history jsonb NOT NULL DEFAULT '[]'`,
  `ALTER TABLE orders DISABLE TRIGGER orders_guard`,
  `UPDATE orders o SET history = (
    SELECT jsonb_agg(jsonb_build_object('status', h.status, 'at', iso_utc(h.at), 'actorBizId', h.actor_biz_id,
             'reason', h.reason) ORDER BY h.position)
      FROM order_status_history h WHERE h.workspace_biz_id = o.workspace_biz_id AND h.order_biz_id = o.biz_id)`,
  `ALTER TABLE orders ENABLE TRIGGER orders_guard`,
  `ALTER TABLE orders ALTER COLUMN history DROP DEFAULT,
    ADD CONSTRAINT orders_history CHECK (coalesce(history->-1->>'status' = status, false))`,
  `DROP TABLE order_status_history`,
  // For whoever reads steps as rows, such as the check of the book by a gateway of the version before.
  `CREATE VIEW order_status_history AS
    SELECT o.workspace_biz_id, o.biz_id AS order_biz_id, s.position::integer, s.step->>'status' AS status,
           (s.step->>'at')::timestamptz AS at, (s.step->>'actorBizId')::uuid AS actor_biz_id, s.step->>'reason' AS reason
      FROM orders o, jsonb_array_elements(o.history) WITH ORDINALITY AS s(step, position)`,
  `CREATE FUNCTION orders_history_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    FOR i IN 0 .. jsonb_array_length(OLD.history) - 1 LOOP
      IF NEW.history->i IS DISTINCT FROM OLD.history->i THEN
        RAISE EXCEPTION 'the history of order % is append-only', OLD.biz_id USING ERRCODE = 'integrity_constraint_violation';
      END IF;
    END LOOP;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER orders_history_guard BEFORE UPDATE OF history ON orders
    FOR EACH ROW EXECUTE FUNCTION orders_history_guard()`,
]

/**
 * PostgreSQL reads the text of every CHECK anew for each statement on its table, byte for byte of its constants; a domain's
 * it keeps. So lists of words become domains, and what only an opening can break is looked at when an account is opened.
 */
const checks = [
  `CREATE DOMAIN ledger_status AS text CHECK (VALUE IN ('ACTIVE', 'FROZEN', 'CLOSED'))`,
  `CREATE DOMAIN ledger_flow AS text
    CHECK (VALUE IN ('TRANSFER', 'EXCHANGE', 'RECHARGE', 'WITHDRAWAL', 'FEE', 'OPENING'))`,
  `CREATE DOMAIN audit_outcome AS text CHECK (VALUE IN ('SUCCESS', 'REFUSED'))`,
  `ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_kind_check, DROP CONSTRAINT ledger_accounts_status_check,
    DROP CONSTRAINT ledger_accounts_owner`,
  `ALTER TABLE ledger_accounts ALTER COLUMN status DROP DEFAULT, ALTER COLUMN status TYPE ledger_status,
    ALTER COLUMN status SET DEFAULT 'ACTIVE'`,
  `ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_flow_type_check`,
  `ALTER TABLE audit_log DROP CONSTRAINT audit_log_outcome_check`,
  `ALTER TABLE ledger_entries ALTER COLUMN flow_type TYPE ledger_flow`,
  `ALTER TABLE audit_log ALTER COLUMN outcome TYPE audit_outcome`,
  `CREATE FUNCTION order_takes(type text, status text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    RETURN ${legalStatus('type', 'status')};
  END $$`,
  `ALTER TABLE orders DROP CONSTRAINT orders_status, ADD CONSTRAINT orders_status CHECK (order_takes(order_type, status))`,
]

const guards = [
  `DROP TRIGGER ledger_accounts_guard ON ledger_accounts`,
  `CREATE FUNCTION ledger_accounts_opening() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.kind NOT IN ('WALLET', 'LIQUIDITY', 'FEE', 'CLEARING')
       OR (NEW.kind = 'WALLET' AND NEW.workspace_biz_id IS NULL)
       OR (NEW.kind IN ('LIQUIDITY', 'FEE') AND NEW.workspace_biz_id IS NOT NULL) THEN
      RAISE EXCEPTION 'no account of kind % for its owner', NEW.kind USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_accounts_owner BEFORE INSERT ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_accounts_opening()`,
  `CREATE TRIGGER ledger_accounts_opening BEFORE INSERT ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_accounts_guard()`,
  // The triggers of entries and holds change money alone (a condition counts one level less than a body); all else is looked at.
  `CREATE TRIGGER ledger_accounts_guard BEFORE UPDATE ON ledger_accounts
    FOR EACH ROW WHEN (pg_trigger_depth() < 1) EXECUTE FUNCTION ledger_accounts_guard()`,
  `CREATE OR REPLACE FUNCTION orders_one_kind() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.workspace_biz_id)
       <> (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.counterparty_workspace_biz_id) THEN
      RAISE EXCEPTION 'order % leads from a sandbox to a live workspace or back', NEW.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
]

const audit = [
  `ALTER TABLE audit_log DROP CONSTRAINT audit_log_sequence_key`,
  `CREATE UNIQUE INDEX audit_log_sequence ON audit_log (sequence) WHERE sequence IS NOT NULL`,
  // The same guard, comparing rows instead of making JSON of both.
  `CREATE OR REPLACE FUNCTION audit_log_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'UPDATE' THEN
      IF OLD.sequence IS NULL AND NEW.sequence IS NOT NULL
         AND (OLD.biz_id, OLD.at, OLD.portal, OLD.actor_biz_id, OLD.workspace_biz_id, OLD.action, OLD.target_biz_id,
              OLD.outcome, OLD.request_id, OLD.client_ip, OLD.detail)
         IS NOT DISTINCT FROM
             (NEW.biz_id, NEW.at, NEW.portal, NEW.actor_biz_id, NEW.workspace_biz_id, NEW.action, NEW.target_biz_id,
              NEW.outcome, NEW.request_id, NEW.client_ip, NEW.detail)
      THEN
        RETURN NEW;
      END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
  END $$`,
]

/** The functions as they stand, for books that began with earlier ones. */
const functions = [steps, writing, orderJson, execute].flat()

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of [...history, ...checks, ...guards, ...audit, ...functions])
    await sql.raw(statement).execute(database)
}
