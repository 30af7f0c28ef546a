/**
 * If the first wallet belongs to a SANDBOX workspace, that workspace's CLEARING account replaces every house account.
 */
const resolve = `CREATE FUNCTION ledger_resolve(parties jsonb) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_party jsonb;
    v_wallet uuid := (jsonb_path_query_first(parties, '$[*].wallet') #>> '{}')::uuid;
    v_id uuid;
    v_ids uuid[] := '{}';
  BEGIN
    FOR i IN 0 .. jsonb_array_length(parties) - 1 LOOP
      v_party := parties->i;
      v_id := (v_party->>'wallet')::uuid;
      IF v_party ? 'house' THEN
        SELECT c.biz_id INTO v_id FROM ledger_accounts w JOIN ledger_accounts c
            ON c.workspace_biz_id = w.workspace_biz_id AND c.kind = 'CLEARING' AND c.currency = v_party->>'currency'
         WHERE w.biz_id = v_wallet;
        IF v_id IS NULL THEN
          SELECT biz_id INTO v_id FROM ledger_accounts
           WHERE workspace_biz_id IS NULL AND kind = v_party->>'house' AND currency = v_party->>'currency';
        END IF;
      END IF;
      v_ids := array_append(v_ids, v_id);
    END LOOP;
    RETURN v_ids;
  END $$`

/**
 * The functions that `ledger_execute` calls before its first write. They loop over JSON arrays by index, because a
 * simple PL/pgSQL expression costs a tenth of a query. `account` in entries and holds is an index into the command's
 * `accounts`, starting at 0.
 */
export const validate = [
  resolve,
  // Ascending ids prevent deadlocks. One query per account always uses the primary key and never scans the table.
  `CREATE FUNCTION ledger_lock(ids uuid[]) RETURNS ledger_accounts[] LANGUAGE plpgsql AS $$
  DECLARE
    v_id uuid;
    v_ids uuid[];
    v_account ledger_accounts;
    v_locked ledger_accounts[] := '{}';
  BEGIN
    -- Most commands have two accounts: sort them without a query.
    IF cardinality(ids) = 2 AND ids[1] < ids[2] THEN
      v_ids := ids;
    ELSIF cardinality(ids) = 2 AND ids[1] > ids[2] THEN
      v_ids := ARRAY[ids[2], ids[1]];
    ELSE
      v_ids := ARRAY(SELECT DISTINCT id FROM unnest(ids) AS id WHERE id IS NOT NULL ORDER BY id);
    END IF;
    FOREACH v_id IN ARRAY v_ids LOOP
      SELECT * INTO v_account FROM ledger_accounts WHERE biz_id = v_id FOR NO KEY UPDATE;
      IF FOUND THEN
        v_locked := array_append(v_locked, v_account);
      END IF;
    END LOOP;
    RETURN v_locked;
  END $$`,
  `CREATE FUNCTION ledger_effect(account uuid, ids uuid[], command jsonb) RETURNS numeric
  LANGUAGE plpgsql IMMUTABLE AS $$
  DECLARE
    v_effect numeric := 0;
    v_entries jsonb := coalesce(command->'entries', '[]');
    v_holds jsonb := coalesce(command->'holds', '[]');
  BEGIN
    FOR i IN 0 .. jsonb_array_length(v_entries) - 1 LOOP
      IF ids[(v_entries->i->>'account')::integer + 1] = account THEN
        v_effect := v_effect + (v_entries->i->>'amount')::minor_units;
      END IF;
    END LOOP;
    FOR i IN 0 .. jsonb_array_length(v_holds) - 1 LOOP
      IF ids[(v_holds->i->>'account')::integer + 1] = account THEN
        v_effect := v_effect - (v_holds->i->>'amount')::minor_units;
      END IF;
    END LOOP;
    RETURN v_effect;
  END $$`,
]

/**
 * Returns the outcome that rejects the command, or NULL. The most severe outcome wins, then the first account. `freed`
 * maps an account to the amount of the holds that the command ends.
 */
export const objection = objectionTo('')

/** A closed wallet gets nothing, not even from a command that may credit a frozen one. */
export const objectionToClosed = objectionTo("v_account.status = 'CLOSED' OR ")

function objectionTo(closed: string): string {
  return `CREATE OR REPLACE FUNCTION
  ledger_objection(ids uuid[], locked ledger_accounts[], command jsonb, freed jsonb)
  RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_party jsonb;
    v_account ledger_accounts;
    v_one ledger_accounts;
    v_effect numeric;
    v_outcome text;
    -- The first account of each outcome.
    v_first jsonb := '{}';
    v_tenant uuid;
    v_other workspaces;
  BEGIN
    FOR i IN 1 .. cardinality(ids) LOOP
      v_party := command->'accounts'->(i - 1);
      v_account := NULL;
      FOREACH v_one IN ARRAY locked LOOP
        IF v_one.biz_id = ids[i] THEN v_account := v_one; END IF;
      END LOOP;
      v_outcome := NULL;
      IF v_account.biz_id IS NULL OR (v_account.kind = 'WALLET') = (v_party ? 'house')
         OR v_account.workspace_biz_id <> (v_party->>'workspace')::uuid THEN
        v_outcome := 'NOT_FOUND';
      ELSIF v_account.currency <> v_party->>'currency' THEN
        v_outcome := 'CURRENCY_MISMATCH';
      ELSIF ${closed}(v_party->>'active')::boolean AND v_account.status <> 'ACTIVE' THEN
        v_outcome := 'NOT_ACTIVE';
      ELSIF v_account.kind <> 'CLEARING' THEN
        v_effect := ledger_effect(ids[i], ids, command);
        IF v_effect < 0
           AND v_account.balance - v_account.held + coalesce((freed->>ids[i]::text)::numeric, 0) + v_effect < 0 THEN
          v_outcome := 'INSUFFICIENT_FUNDS';
        END IF;
      END IF;
      -- Wallets of LIVE and SANDBOX workspaces are invisible to each other.
      IF v_outcome IS DISTINCT FROM 'NOT_FOUND' AND v_account.workspace_biz_id <> v_tenant THEN
        SELECT * INTO v_other FROM workspaces WHERE biz_id = v_account.workspace_biz_id;
        IF (SELECT workspace_kind FROM workspaces WHERE biz_id = v_tenant) <> v_other.workspace_kind THEN
          v_outcome := 'NOT_FOUND';
        ELSIF v_outcome IS DISTINCT FROM 'CURRENCY_MISMATCH'
          AND (v_party->>'active')::boolean AND v_other.workspace_status <> 'ACTIVE' THEN
          v_outcome := 'NOT_ACTIVE';
        END IF;
      END IF;
      v_tenant := coalesce(v_tenant, v_account.workspace_biz_id);
      IF v_outcome IS NOT NULL AND NOT v_first ? v_outcome THEN
        v_first := v_first || jsonb_build_object(v_outcome, i - 1);
      END IF;
    END LOOP;
    IF v_first = '{}' THEN RETURN NULL; END IF;
    FOREACH v_outcome IN ARRAY ARRAY['NOT_FOUND', 'CURRENCY_MISMATCH', 'NOT_ACTIVE', 'INSUFFICIENT_FUNDS'] LOOP
      IF v_first ? v_outcome THEN
        RETURN jsonb_build_object('outcome', v_outcome, 'account', v_first->v_outcome);
      END IF;
    END LOOP;
  END $$`
}
