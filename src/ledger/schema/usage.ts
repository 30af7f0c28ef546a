import { endedStatuses } from '../order.ts'

const ended = endedStatuses
  .filter((status) => status !== 'COMPLETED')
  .map((status) => `'${status}'`)
  .join(', ')

/**
 * Amounts that count towards rolling sums over 24 hours. `ledger_usage_exceeded` keeps the sums locked until the
 * transaction ends, so that concurrent orders cannot exceed a maximum together. The sums are locked after the accounts
 * and by ascending key, which prevents deadlocks.
 */
export const usage = [
  `CREATE TABLE ledger_usage (
    order_biz_id uuid NOT NULL,
    counted_by text NOT NULL CHECK (counted_by IN ('WORKSPACE', 'PERSON', 'EXTERNAL_ACCOUNT')),
    subject text NOT NULL,
    usage_of text NOT NULL,
    currency text NOT NULL,
    workspace_biz_id uuid NOT NULL,
    amount minor_units NOT NULL CHECK (amount > 0),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (order_biz_id, counted_by, usage_of)
  )`,
  `CREATE INDEX ledger_usage_sum ON ledger_usage (subject, usage_of, currency, counted_by, created_at)`,
  `CREATE INDEX ledger_usage_workspace ON ledger_usage (workspace_biz_id)`,
  `CREATE INDEX ledger_usage_at ON ledger_usage (created_at)`,
  `CREATE FUNCTION ledger_person(account uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN coalesce((SELECT person_key FROM accounts WHERE biz_id = account), account::text);
  END $$`,
  // The key of a person is hashed, because it is an address. Sandboxes and live workspaces have separate sums.
  `CREATE FUNCTION ledger_usage_subject(used jsonb, workspace uuid, actor uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_subject text := used->>'subject';
  BEGIN
    IF used->>'of' = 'WORKSPACE' THEN
      RETURN workspace::text;
    ELSIF used->>'of' = 'PERSON' THEN
      v_subject := encode(sha256(convert_to(ledger_person(actor), 'UTF8')), 'hex');
    END IF;
    RETURN v_subject || (SELECT CASE workspace_kind WHEN 'SANDBOX' THEN ' sandbox' ELSE '' END
      FROM workspaces WHERE biz_id = workspace);
  END $$`,
  `CREATE FUNCTION ledger_usage_total(used jsonb, subject text, at timestamptz) RETURNS numeric
  LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (SELECT coalesce(sum(u.amount), 0) FROM ledger_usage u
             WHERE u.subject = ledger_usage_total.subject AND u.usage_of = used->>'usageOf'
               AND u.currency = used->>'currency' AND u.counted_by = used->>'of'
               AND u.created_at > at - interval '24 hours');
  END $$`,
  // A sum with "leaving" counts only money that leaves the workspace.
  `CREATE FUNCTION ledger_usage_resolve(command jsonb, target uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_used jsonb;
    v_workspace uuid := (command->'create'->>'workspace')::uuid;
    v_resolved jsonb := '[]';
  BEGIN
    FOR i IN 0 .. jsonb_array_length(command->'usage') - 1 LOOP
      v_used := command->'usage'->i;
      IF NOT coalesce((v_used->>'leaving')::boolean AND target = v_workspace, false) THEN
        v_resolved := v_resolved || (v_used || jsonb_build_object('index', i,
          'subject', ledger_usage_subject(v_used, v_workspace, (command->>'actor')::uuid)));
      END IF;
    END LOOP;
    RETURN v_resolved;
  END $$`,
  // Returns the index of the first sum that would exceed its maximum, or NULL.
  `CREATE FUNCTION ledger_usage_exceeded(resolved jsonb, at timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    v_used jsonb;
    v_lock bigint;
  BEGIN
    FOR v_lock IN SELECT DISTINCT hashtextextended(concat_ws(chr(31), 'usage', u->>'of', u->>'subject', u->>'usageOf',
                    u->>'currency'), 0) FROM jsonb_array_elements(resolved) AS u ORDER BY 1 LOOP
      PERFORM pg_advisory_xact_lock(v_lock);
    END LOOP;
    FOR i IN 0 .. jsonb_array_length(resolved) - 1 LOOP
      v_used := resolved->i;
      IF ledger_usage_total(v_used, v_used->>'subject', at) + (v_used->>'amount')::numeric > (v_used->>'max')::numeric THEN
        RETURN (v_used->>'index')::integer;
      END IF;
    END LOOP;
    RETURN NULL;
  END $$`,
  `CREATE FUNCTION ledger_write_usage(resolved jsonb, used_by orders) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ledger_usage
      (order_biz_id, counted_by, subject, usage_of, currency, workspace_biz_id, amount, created_at)
    SELECT used_by.biz_id, u."of", u.subject, u."usageOf", u.currency, used_by.workspace_biz_id, u.amount,
           used_by.created_at
      FROM jsonb_to_recordset(resolved) AS u("of" text, subject text, "usageOf" text, currency text, amount minor_units);
  END $$`,
  `CREATE FUNCTION ledger_usage_return() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM ledger_usage WHERE order_biz_id = NEW.biz_id;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER ledger_usage_return AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.status <> OLD.status AND NEW.status IN (${ended})) EXECUTE FUNCTION ledger_usage_return()`,
  // An amount must be expired by the clocks of both the process and the database.
  `CREATE FUNCTION ledger_usage_cleanup(at timestamptz, max_rows integer) RETURNS bigint LANGUAGE sql AS $$
    WITH deleted AS (
      DELETE FROM ledger_usage WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ledger_usage WHERE created_at <= (SELECT least(at, clock_timestamp()) - interval '24 hours')
         ORDER BY created_at LIMIT max_rows FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*) FROM deleted
  $$`,
]

/**
 * One sum for all kinds of outgoing orders. An amount in another currency than the sum's counts as above it: it was
 * written by the previous release, or before a change of the setting.
 */
export const oneOutgoingSum = [
  `CREATE OR REPLACE FUNCTION ledger_usage_total(used jsonb, subject text, at timestamptz) RETURNS numeric
  LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (SELECT coalesce(sum(CASE WHEN u.currency = used->>'currency' THEN u.amount
                                     ELSE (used->>'otherCurrencies')::numeric END), 0) FROM ledger_usage u
             WHERE u.subject = ledger_usage_total.subject AND u.usage_of = used->>'usageOf'
               AND (u.currency = used->>'currency' OR used ? 'otherCurrencies') AND u.counted_by = used->>'of'
               AND u.created_at > at - interval '24 hours');
  END $$`,
  // Replicas of the previous release name a sum for transfers and another one for withdrawals.
  `CREATE OR REPLACE FUNCTION ledger_usage_resolve(command jsonb, target uuid) RETURNS jsonb
  LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_used jsonb;
    v_workspace uuid := (command->'create'->>'workspace')::uuid;
    v_resolved jsonb := '[]';
  BEGIN
    FOR i IN 0 .. jsonb_array_length(command->'usage') - 1 LOOP
      v_used := command->'usage'->i;
      IF v_used->>'of' = 'PERSON' AND v_used->>'usageOf' IN ('TRANSFER', 'WITHDRAWAL') THEN
        v_used := v_used || '{"usageOf": "OUTGOING"}';
      END IF;
      IF NOT coalesce((v_used->>'leaving')::boolean AND target = v_workspace, false) THEN
        v_resolved := v_resolved || (v_used || jsonb_build_object('index', i,
          'subject', ledger_usage_subject(v_used, v_workspace, (command->>'actor')::uuid)));
      END IF;
    END LOOP;
    RETURN v_resolved;
  END $$`,
  `UPDATE ledger_usage SET usage_of = 'OUTGOING' WHERE counted_by = 'PERSON' AND usage_of IN ('TRANSFER', 'WITHDRAWAL')`,
]

/** A move can count amounts, too: for the workspace and the creator of the order, at the time of the move. */
export const usageOfMoves = [
  `CREATE OR REPLACE FUNCTION ledger_usage_resolve(command jsonb, target uuid) RETURNS jsonb
  LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_used jsonb;
    v_order orders;
    v_workspace uuid := (command->'create'->>'workspace')::uuid;
    v_person uuid := (command->>'actor')::uuid;
    v_target uuid := target;
    v_resolved jsonb := '[]';
  BEGIN
    IF command ? 'move' THEN
      SELECT * INTO v_order FROM orders
       WHERE biz_id = (command->'move'->>'id')::uuid AND order_type = command->'move'->>'type';
      v_workspace := v_order.workspace_biz_id;
      v_person := v_order.created_by;
      v_target := CASE WHEN v_order.target_wallet_biz_id IS NOT NULL
        THEN coalesce(v_order.counterparty_workspace_biz_id, v_workspace) END;
    END IF;
    FOR i IN 0 .. jsonb_array_length(command->'usage') - 1 LOOP
      v_used := command->'usage'->i;
      -- Replicas of an earlier release name a sum for transfers and another one for withdrawals.
      IF v_used->>'of' = 'PERSON' AND v_used->>'usageOf' IN ('TRANSFER', 'WITHDRAWAL') THEN
        v_used := v_used || '{"usageOf": "OUTGOING"}';
      END IF;
      IF NOT coalesce((v_used->>'leaving')::boolean AND v_target = v_workspace, false) THEN
        v_resolved := v_resolved || (v_used || jsonb_build_object('index', i,
          'subject', ledger_usage_subject(v_used, v_workspace, v_person)));
      END IF;
    END LOOP;
    RETURN v_resolved;
  END $$`,
  `CREATE OR REPLACE FUNCTION ledger_write_usage(resolved jsonb, used_by orders) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ledger_usage
      (order_biz_id, counted_by, subject, usage_of, currency, workspace_biz_id, amount, created_at)
    SELECT used_by.biz_id, u."of", u.subject, u."usageOf", u.currency, used_by.workspace_biz_id, u.amount,
           used_by.updated_at
      FROM jsonb_to_recordset(resolved) AS u("of" text, subject text, "usageOf" text, currency text, amount minor_units);
  END $$`,
]
