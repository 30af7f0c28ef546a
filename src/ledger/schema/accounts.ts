/**
 * A `minor_units` value is a whole number: NaN, infinity and decimal places are rejected, never rounded. Only CLEARING,
 * the counterparty of recharges and withdrawals, may have a negative balance.
 *
 * The fill factor of 50 lets PostgreSQL update a busy account within its page. Lists of values are checked by domain
 * types and an insert trigger, because PostgreSQL parses a CHECK constraint again for each statement.
 */
export const accounts = [
  `CREATE DOMAIN minor_units AS numeric CHECK (scale(VALUE) = 0 AND abs(VALUE) < 1e38)`,
  `CREATE DOMAIN ledger_status AS text CHECK (VALUE IN ('ACTIVE', 'FROZEN', 'CLOSED'))`,
  `CREATE TABLE ledger_accounts (
    biz_id uuid PRIMARY KEY,
    workspace_biz_id uuid REFERENCES workspaces,
    kind text NOT NULL,
    currency text NOT NULL,
    status ledger_status NOT NULL DEFAULT 'ACTIVE',
    balance minor_units NOT NULL DEFAULT 0,
    held minor_units NOT NULL DEFAULT 0 CHECK (held >= 0),
    sequence bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,
    last_entry_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (workspace_biz_id, biz_id, currency),
    CONSTRAINT ledger_accounts_available CHECK (kind = 'CLEARING' OR balance - held >= 0),
    CONSTRAINT ledger_accounts_closed_empty CHECK (status <> 'CLOSED' OR (balance = 0 AND held = 0))
  ) WITH (fillfactor = 50)`,
  `CREATE UNIQUE INDEX ledger_accounts_house ON ledger_accounts (kind, currency) WHERE workspace_biz_id IS NULL`,
  `CREATE TABLE wallets (
    biz_id uuid NOT NULL,
    workspace_biz_id uuid NOT NULL,
    wallet_name text NOT NULL,
    currency text NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_biz_id, biz_id),
    FOREIGN KEY (workspace_biz_id, biz_id, currency) REFERENCES ledger_accounts (workspace_biz_id, biz_id, currency)
  )`,
  `CREATE UNIQUE INDEX wallets_one_default ON wallets (workspace_biz_id, currency) WHERE is_default`,
  `CREATE FUNCTION ledger_reject() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION '% on % rejected: the ledger is append-only', TG_OP, TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation';
  END $$`,
  `CREATE FUNCTION ledger_accounts_opening() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF (NEW.kind NOT IN ('WALLET', 'LIQUIDITY', 'FEE', 'CLEARING')
        AND NOT EXISTS (SELECT FROM ledger_types WHERE kind = 'HOUSE_ACCOUNT' AND name = NEW.kind))
       OR (NEW.kind = 'WALLET' AND NEW.workspace_biz_id IS NULL)
       OR (NEW.kind NOT IN ('WALLET', 'CLEARING') AND NEW.workspace_biz_id IS NOT NULL) THEN
      RAISE EXCEPTION 'invalid kind or owner of account: %', NEW.kind USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  // Amounts change only inside the triggers on entries and holds, where pg_trigger_depth() is at least 2.
  `CREATE FUNCTION ledger_accounts_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      IF (NEW.balance, NEW.held, NEW.sequence, NEW.version) IS DISTINCT FROM (0, 0, 0, 0)
         OR NEW.last_entry_at IS NOT NULL THEN
        RAISE EXCEPTION 'account % must start empty', NEW.biz_id USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN NEW;
    END IF;
    IF (NEW.biz_id, NEW.workspace_biz_id, NEW.kind, NEW.currency, NEW.created_at)
       IS DISTINCT FROM (OLD.biz_id, OLD.workspace_biz_id, OLD.kind, OLD.currency, OLD.created_at) THEN
      RAISE EXCEPTION 'the identity of account % cannot change', OLD.biz_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF pg_trigger_depth() < 2 AND (NEW.balance, NEW.held, NEW.sequence, NEW.version, NEW.last_entry_at)
       IS DISTINCT FROM (OLD.balance, OLD.held, OLD.sequence, OLD.version, OLD.last_entry_at) THEN
      RAISE EXCEPTION 'the amounts of account % change only by entries and holds', OLD.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.status = 'CLOSED' AND NEW.status <> 'CLOSED' THEN
      RAISE EXCEPTION 'account % is closed', OLD.biz_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER ledger_accounts_owner BEFORE INSERT ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_accounts_opening()`,
  `CREATE TRIGGER ledger_accounts_opening BEFORE INSERT ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_accounts_guard()`,
  // Skip the updates by the triggers on entries and holds. In a WHEN condition, pg_trigger_depth() is one less.
  `CREATE TRIGGER ledger_accounts_guard BEFORE UPDATE ON ledger_accounts
    FOR EACH ROW WHEN (pg_trigger_depth() < 1) EXECUTE FUNCTION ledger_accounts_guard()`,
  `CREATE TRIGGER ledger_accounts_append_only BEFORE DELETE OR TRUNCATE ON ledger_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`,
]
