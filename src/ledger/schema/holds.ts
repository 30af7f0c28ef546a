/**
 * A hold ends once, as RELEASED or CAPTURED. AFTER triggers update the account, because they run only for rows that
 * were written.
 */
export const holds = [
  `CREATE TABLE ledger_holds (
    workspace_biz_id uuid NOT NULL,
    biz_id uuid NOT NULL,
    account_biz_id uuid NOT NULL,
    order_biz_id uuid NOT NULL,
    amount minor_units NOT NULL CHECK (amount > 0),
    status text NOT NULL CHECK (status IN ('HELD', 'RELEASED', 'CAPTURED')),
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (workspace_biz_id, biz_id),
    FOREIGN KEY (workspace_biz_id, order_biz_id) REFERENCES orders,
    CHECK ((status = 'HELD') = (ended_at IS NULL)),
    CHECK (ended_at >= created_at)
  )`,
  `CREATE INDEX ledger_holds_order ON ledger_holds (order_biz_id)`,
  `CREATE INDEX ledger_holds_account ON ledger_holds (account_biz_id, created_at)`,
  `CREATE FUNCTION ledger_holds_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      IF NEW.status <> 'HELD' THEN
        RAISE EXCEPTION 'hold % must start HELD', NEW.biz_id USING ERRCODE = 'integrity_constraint_violation';
      END IF;
    ELSIF OLD.status <> 'HELD' OR NEW.status = 'HELD'
       OR (NEW.workspace_biz_id, NEW.biz_id, NEW.account_biz_id, NEW.order_biz_id, NEW.amount, NEW.created_at)
       IS DISTINCT FROM
       (OLD.workspace_biz_id, OLD.biz_id, OLD.account_biz_id, OLD.order_biz_id, OLD.amount, OLD.created_at) THEN
      RAISE EXCEPTION 'hold % can only end, and only once', OLD.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_holds_guard BEFORE INSERT OR UPDATE ON ledger_holds
    FOR EACH ROW EXECUTE FUNCTION ledger_holds_guard()`,
  `CREATE FUNCTION ledger_holds_apply() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE ledger_accounts
       SET held = CASE NEW.status WHEN 'HELD' THEN held + NEW.amount ELSE held - NEW.amount END, version = version + 1,
           updated_at = greatest(updated_at, coalesce(NEW.ended_at, NEW.created_at))
     WHERE biz_id = NEW.account_biz_id AND workspace_biz_id = NEW.workspace_biz_id;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'no account % of the workspace for a hold', NEW.account_biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER ledger_holds_apply AFTER INSERT OR UPDATE ON ledger_holds
    FOR EACH ROW EXECUTE FUNCTION ledger_holds_apply()`,
  `CREATE TRIGGER ledger_holds_append_only BEFORE DELETE OR TRUNCATE ON ledger_holds
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
]
