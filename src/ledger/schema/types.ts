import { ledgerTypes } from '../contract.ts'

const orderTypes = ownNames(Object.keys(ledgerTypes.orders))
const flowTypes = ownNames(Object.keys(ledgerTypes.flowTypes))

/**
 * Types of other domains. A process registers those of its domains when it starts (commands/types-store.ts). A type
 * outlives its domain, because its rows remain.
 *
 * The triggers skip the ledger's own types, so that these cost no query.
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
    FOR EACH ROW WHEN (NEW.order_type NOT IN (${orderTypes})) EXECUTE FUNCTION orders_type()`,
  `CREATE FUNCTION ledger_entries_type() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM ledger_types WHERE kind = 'FLOW' AND name = NEW.flow_type) THEN
      RAISE EXCEPTION 'no domain declares the flow type %', NEW.flow_type
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_entries_type BEFORE INSERT ON ledger_entries
    FOR EACH ROW WHEN (NEW.flow_type NOT IN (${flowTypes})) EXECUTE FUNCTION ledger_entries_type()`,
]

function ownNames(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ')
}
