/**
 * Only the row trigger changes the balance of an account. It also checks that the account exists, so no foreign key is
 * needed.
 *
 * Callers must not be able to violate a unique key: INSERT … ON CONFLICT DO NOTHING would skip the row after the BEFORE
 * trigger has changed the balance. The trigger therefore assigns the only unique key, `sequence`.
 */
export const entries = [
  `CREATE TABLE ledger_entries (
    account_biz_id uuid NOT NULL,
    sequence bigint NOT NULL,
    biz_id uuid NOT NULL,
    workspace_biz_id uuid,
    transaction_biz_id uuid NOT NULL,
    order_biz_id uuid,
    currency text NOT NULL,
    amount minor_units NOT NULL CHECK (amount <> 0),
    balance_after minor_units NOT NULL,
    flow_type text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_biz_id, sequence)
  )`,
  `CREATE INDEX ledger_entries_at ON ledger_entries (account_biz_id, created_at)`,
  `CREATE INDEX ledger_entries_order ON ledger_entries (order_biz_id) WHERE order_biz_id IS NOT NULL`,
  // Each process reads the opening entries of the house accounts when it starts.
  `CREATE INDEX ledger_entries_opening ON ledger_entries (account_biz_id) WHERE flow_type = 'OPENING'`,
  // Creation times never decrease within an account, so its balance at an instant is well defined.
  `CREATE FUNCTION ledger_entries_apply() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE ledger_accounts
       SET balance = balance + NEW.amount, sequence = sequence + 1, version = version + 1,
           last_entry_at = NEW.created_at, updated_at = greatest(updated_at, NEW.created_at)
     WHERE biz_id = NEW.account_biz_id AND currency = NEW.currency
       AND (last_entry_at IS NULL OR last_entry_at <= NEW.created_at)
    RETURNING balance, sequence, workspace_biz_id INTO NEW.balance_after, NEW.sequence, NEW.workspace_biz_id;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'no account % in %, or its last entry is later than %', NEW.account_biz_id, NEW.currency, NEW.created_at
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_entries_apply BEFORE INSERT ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION ledger_entries_apply()`,
  `CREATE FUNCTION ledger_entries_balance() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_sum record;
  BEGIN
    SELECT transaction_biz_id, currency, sum(amount) AS amount INTO v_sum
      FROM inserted GROUP BY transaction_biz_id, currency HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'entries of transaction % sum to % %', v_sum.transaction_biz_id, v_sum.amount, v_sum.currency
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER ledger_entries_balance AFTER INSERT ON ledger_entries
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION ledger_entries_balance()`,
  `CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
]
