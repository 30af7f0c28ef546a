import { endedStatuses } from '../order.ts'
import { baselineOrderTypes, baselineStatuses, quoted } from './types.ts'

const statusOfType = Object.entries(baselineStatuses)
  .map(([type, statuses]) => `(type = '${type}' AND status IN (${quoted(statuses)}))`)
  .join(' OR ')
const ended = quoted(endedStatuses)

/**
 * Amounts in `data` are strings of minor units. `history` is a column rather than a table, so that a command reads and
 * writes only one row. types.ts checks the order types of other domains.
 */
export const orders = [
  // A function, because PostgreSQL parses a CHECK constraint again for each statement.
  `CREATE FUNCTION is_order_status(type text, status text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    RETURN ${statusOfType} OR type NOT IN (${baselineOrderTypes});
  END $$`,
  `CREATE TABLE orders (
    workspace_biz_id uuid NOT NULL,
    biz_id uuid NOT NULL,
    counterparty_workspace_biz_id uuid CHECK (counterparty_workspace_biz_id <> workspace_biz_id),
    order_type text NOT NULL,
    order_no text NOT NULL,
    status text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    source_wallet_biz_id uuid,
    target_wallet_biz_id uuid,
    created_by uuid,
    data jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    history jsonb NOT NULL,
    PRIMARY KEY (workspace_biz_id, biz_id),
    UNIQUE (workspace_biz_id, order_no),
    CONSTRAINT orders_status CHECK (is_order_status(order_type, status)),
    CONSTRAINT orders_history CHECK (coalesce(history->-1->>'status' = status, false))
  )`,
  `CREATE INDEX orders_biz_id ON orders (biz_id)`,
  `CREATE INDEX orders_list ON orders (workspace_biz_id, order_type, created_at, biz_id)`,
  `CREATE INDEX orders_received ON orders (counterparty_workspace_biz_id, order_type, created_at, biz_id)
    WHERE counterparty_workspace_biz_id IS NOT NULL`,
  `CREATE INDEX orders_source ON orders (source_wallet_biz_id, created_at) WHERE source_wallet_biz_id IS NOT NULL`,
  `CREATE INDEX orders_target ON orders (target_wallet_biz_id, created_at) WHERE target_wallet_biz_id IS NOT NULL`,
  `CREATE INDEX orders_open ON orders (order_type, status, created_at) WHERE status NOT IN (${ended})`,
  // For operators, who list these orders of all workspaces.
  `CREATE INDEX orders_of_all ON orders (order_type, created_at, biz_id)
    WHERE order_type NOT IN ('TRANSFER', 'EXCHANGE')`,
  ordersGuard(
    'CREATE',
    `IF OLD.status IN (${ended}) AND NEW.status <> OLD.status THEN
      RAISE EXCEPTION 'order % has ended as %', OLD.biz_id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    `,
  ),
  `CREATE TRIGGER orders_guard BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard()`,
  `CREATE TRIGGER orders_append_only BEFORE DELETE OR TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
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

/** The JSON form of an order. `ledger_execute` returns and stores this form, and reads select the same form. */
export const orderJson = [
  `CREATE FUNCTION iso_utc(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$`,
  // plpgsql caches query plans. PostgreSQL plans an SQL function again on each call.
  `CREATE FUNCTION order_json(o orders) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN jsonb_build_object(
      'bizId', o.biz_id, 'workspaceBizId', o.workspace_biz_id,
      'counterpartyWorkspaceBizId', o.counterparty_workspace_biz_id,
      'orderType', o.order_type, 'orderNo', o.order_no, 'status', o.status, 'version', o.version,
      'sourceWalletBizId', o.source_wallet_biz_id, 'targetWalletBizId', o.target_wallet_biz_id,
      'createdBy', o.created_by, 'data', o.data,
      'createdAt', iso_utc(o.created_at), 'updatedAt', iso_utc(o.updated_at), 'history', o.history);
  END $$`,
]

export function ordersGuard(create: string, rule = ''): string {
  return `${create} FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${rule}IF (NEW.workspace_biz_id, NEW.biz_id, NEW.counterparty_workspace_biz_id, NEW.order_type, NEW.order_no,
        NEW.source_wallet_biz_id, NEW.target_wallet_biz_id, NEW.created_by, NEW.created_at)
       IS DISTINCT FROM
       (OLD.workspace_biz_id, OLD.biz_id, OLD.counterparty_workspace_biz_id, OLD.order_type, OLD.order_no,
        OLD.source_wallet_biz_id, OLD.target_wallet_biz_id, OLD.created_by, OLD.created_at)
       OR NEW.version <> OLD.version + 1 THEN
      RAISE EXCEPTION 'the identity of order % cannot change, and its version grows by one', OLD.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`
}

/** Records each status in which a transaction leaves an order, for `orderEvents`. */
export const orderChanges = [
  `CREATE FUNCTION orders_events() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO event_outbox (source, at, new) VALUES ('orders/' || NEW.order_type, NEW.updated_at, order_json(NEW));
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER orders_created_event AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION orders_events()`,
  `CREATE TRIGGER orders_changed_event AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION orders_events()`,
]
