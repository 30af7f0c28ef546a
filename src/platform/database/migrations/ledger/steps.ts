/** The parts of ledger_execute, in the order in which it takes them. */
export const steps = [
  // An account that a command names. A wallet by id; an account of the house by kind and currency.
  `CREATE TYPE ledger_party AS (
    label text, position integer, account uuid, house text, workspace uuid, currency text, must_be_active boolean
  )`,
  `CREATE FUNCTION ledger_parties(command jsonb) RETURNS ledger_party[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(ROW(
             p.label, p.position,
             CASE WHEN p.house IS NULL THEN p.wallet
                  ELSE (SELECT biz_id FROM ledger_accounts
                         WHERE workspace_biz_id IS NULL AND kind = p.house AND currency = p.currency) END,
             p.house, p.workspace, p.currency, p.active)::ledger_party), '{}')
      FROM ROWS FROM (jsonb_to_recordset(command->'accounts')
             AS (label text, wallet uuid, house text, workspace uuid, currency text, active boolean)) WITH ORDINALITY
        AS p(label, wallet, house, workspace, currency, active, position)
  $$`,
  // Locks one row after the other in the order of their ids; all that touch several accounts keep to this order.
  `CREATE FUNCTION ledger_lock(ids uuid[]) RETURNS ledger_accounts[] LANGUAGE plpgsql AS $$
  DECLARE
    v_id uuid;
    v_account ledger_accounts;
    v_locked ledger_accounts[] := '{}';
  BEGIN
    FOR v_id IN SELECT DISTINCT id FROM unnest(ids) AS id WHERE id IS NOT NULL ORDER BY id LOOP
      SELECT * INTO v_account FROM ledger_accounts WHERE biz_id = v_id FOR NO KEY UPDATE;
      IF FOUND THEN
        v_locked := v_locked || v_account;
      END IF;
    END LOOP;
    RETURN v_locked;
  END $$`,
  // The first reason to say no, in the order of the reasons and then of the parties; NULL when there is none.
  // "freed" is what ends of the order's holds, per account.
  `CREATE FUNCTION ledger_objection(parties ledger_party[], locked ledger_accounts[], command jsonb, freed jsonb)
  RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_party ledger_party;
    v_account ledger_accounts;
    v_effect numeric;
    v_rank integer;
    v_worst integer := 5;
    v_label text;
  BEGIN
    FOREACH v_party IN ARRAY parties LOOP
      SELECT * INTO v_account FROM unnest(locked) AS a WHERE a.biz_id = v_party.account;
      v_rank := 5;
      IF NOT FOUND OR (v_party.house IS NULL AND v_account.kind <> 'WALLET')
         OR (v_party.workspace IS NOT NULL AND v_account.workspace_biz_id IS DISTINCT FROM v_party.workspace) THEN
        v_rank := 1;
      ELSIF v_account.currency IS DISTINCT FROM v_party.currency THEN
        v_rank := 2;
      ELSIF v_party.must_be_active AND v_account.status <> 'ACTIVE' THEN
        v_rank := 3;
      ELSIF v_account.kind <> 'CLEARING' THEN
        SELECT coalesce(sum(e.amount), 0) INTO v_effect
          FROM (SELECT account, amount FROM jsonb_to_recordset(command->'entries') AS (account text, amount minor_units)
                UNION ALL
                SELECT account, -amount FROM jsonb_to_recordset(command->'holds') AS (account text, amount minor_units)
               ) AS e
          JOIN unnest(parties) AS p ON p.label = e.account AND p.account = v_party.account;
        IF v_effect < 0
           AND v_account.balance - v_account.held + coalesce((freed->>v_party.account::text)::numeric, 0) + v_effect < 0
        THEN
          v_rank := 4;
        END IF;
      END IF;
      IF v_rank < v_worst THEN
        v_worst := v_rank;
        v_label := v_party.label;
      END IF;
    END LOOP;
    IF v_worst = 5 THEN
      RETURN NULL;
    END IF;
    RETURN jsonb_build_object(
      'outcome', (ARRAY['NOT_FOUND', 'CURRENCY_MISMATCH', 'NOT_ACTIVE', 'INSUFFICIENT_FUNDS'])[v_worst],
      'account', v_label);
  END $$`,
]
