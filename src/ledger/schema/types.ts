import { endedStatuses } from '../order.ts'

/** An applied migration never changes, so the baseline does not read the declarations. */
export const baselineStatuses: Readonly<Record<string, readonly string[]>> = {
  TRANSFER: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'FAILED'],
  EXCHANGE: ['PROCESSING', 'COMPLETED', 'FAILED'],
  RECHARGE: ['PENDING_PAYMENT', 'PROOF_SUBMITTED', 'COMPLETED', 'REJECTED', 'CANCELLED', 'EXPIRED'],
  WITHDRAWAL: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'CANCELLED', 'REJECTED', 'FAILED'],
}

export const baselineOrderTypes = quoted(Object.keys(baselineStatuses))
const baselineFlowTypes = quoted(['TRANSFER', 'EXCHANGE', 'RECHARGE', 'WITHDRAWAL', 'FEE', 'OPENING'])

/**
 * Types of other domains. A process registers those of its domains when it starts (commands/types-store.ts). A type
 * outlives its domain, because its rows remain.
 *
 * The triggers skip the types of the baseline, so that these cost no query.
 */
export const types = [
  `CREATE TABLE ledger_types (
    kind text NOT NULL CHECK (kind IN ('ORDER', 'FLOW', 'HOUSE_ACCOUNT')),
    name text NOT NULL CHECK (name ~ '^[A-Z][A-Z0-9_]{1,31}$'),
    owner text NOT NULL,
    statuses jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (kind, name)
  )`,
  `CREATE TRIGGER ledger_types_append_only BEFORE DELETE OR TRUNCATE ON ledger_types
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
  `CREATE FUNCTION orders_type() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_statuses jsonb := (SELECT statuses FROM ledger_types WHERE kind = 'ORDER' AND name = NEW.order_type);
  BEGIN
    IF v_statuses IS NULL OR NOT v_statuses ? NEW.status THEN
      RAISE EXCEPTION 'no domain declares an order type % with the status %', NEW.order_type, NEW.status
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.status <> OLD.status AND (v_statuses->>OLD.status)::boolean THEN
      RAISE EXCEPTION 'order % has ended as %', OLD.biz_id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER orders_type BEFORE INSERT OR UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.order_type NOT IN (${baselineOrderTypes})) EXECUTE FUNCTION orders_type()`,
  `CREATE FUNCTION ledger_entries_type() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM ledger_types WHERE kind = 'FLOW' AND name = NEW.flow_type) THEN
      RAISE EXCEPTION 'no domain declares the flow type %', NEW.flow_type
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_entries_type BEFORE INSERT ON ledger_entries
    FOR EACH ROW WHEN (NEW.flow_type NOT IN (${baselineFlowTypes})) EXECUTE FUNCTION ledger_entries_type()`,
]

const ownerOf: Readonly<Record<string, string>> = {
  TRANSFER: 'transfers',
  EXCHANGE: 'exchanges',
  RECHARGE: 'recharges',
  WITHDRAWAL: 'withdrawals',
}

const baselineRows = Object.entries(baselineStatuses).map(([name, statuses]) => {
  const isFinal = statuses.map((status) => [status, endedStatuses.some((ended) => ended === status)] as const)
  return `('ORDER', '${name}', '${ownerOf[name]}', '${JSON.stringify(Object.fromEntries(isFinal))}')`
})

/**
 * A new status of any type, and the changes that leave a final status. `corrections` has a key for each of them, such as
 * `COMPLETED RETURNED`. The types of the baseline still cost no query, except where such a status is involved.
 */
export const corrections = [
  `ALTER TABLE ledger_types ADD COLUMN corrections jsonb NOT NULL DEFAULT '{}'`,
  `INSERT INTO ledger_types (kind, name, owner, statuses) VALUES ${baselineRows.join(', ')} ON CONFLICT DO NOTHING`,
  `CREATE OR REPLACE FUNCTION orders_type() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_type ledger_types;
  BEGIN
    SELECT * INTO v_type FROM ledger_types WHERE kind = 'ORDER' AND name = NEW.order_type;
    IF NOT coalesce(v_type.statuses ? NEW.status, false) THEN
      RAISE EXCEPTION 'no domain declares an order type % with the status %', NEW.order_type, NEW.status
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.status <> OLD.status
       AND (OLD.status IN (${quoted(endedStatuses)}) OR (v_type.statuses->>OLD.status)::boolean)
       AND NOT v_type.corrections ? (OLD.status || ' ' || NEW.status) THEN
      RAISE EXCEPTION 'order % has ended as %', OLD.biz_id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `DROP TRIGGER orders_type ON orders`,
  `CREATE TRIGGER orders_type BEFORE INSERT ON orders FOR EACH ROW
    WHEN (NEW.order_type NOT IN (${baselineOrderTypes}) OR NOT is_order_status(NEW.order_type, NEW.status))
    EXECUTE FUNCTION orders_type()`,
  `CREATE TRIGGER orders_type_change BEFORE UPDATE OF status ON orders FOR EACH ROW
    WHEN (NEW.order_type NOT IN (${baselineOrderTypes}) OR OLD.status IN (${quoted(endedStatuses)})
      OR NOT is_order_status(NEW.order_type, NEW.status) OR NOT is_order_status(OLD.order_type, OLD.status))
    EXECUTE FUNCTION orders_type()`,
  `ALTER TABLE orders DROP CONSTRAINT orders_status`,
]

export function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ')
}
