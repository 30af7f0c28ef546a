/**
 * Keeps sandbox funds separate from real funds. Both workspaces of an order must have the same kind. A SANDBOX
 * workspace uses its own CLEARING account per currency instead of the house accounts.
 */
export const sandbox = [
  `CREATE FUNCTION orders_one_kind() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.workspace_biz_id)
       <> (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.counterparty_workspace_biz_id) THEN
      RAISE EXCEPTION 'order % is between a sandbox and a live workspace', NEW.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER orders_one_kind BEFORE INSERT ON orders FOR EACH ROW
    WHEN (NEW.counterparty_workspace_biz_id IS NOT NULL) EXECUTE FUNCTION orders_one_kind()`,
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
]
