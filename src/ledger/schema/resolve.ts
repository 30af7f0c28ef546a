/**
 * Resolves the accounts of a command to their ids. A wallet comes with its id. A house account becomes the counterpart of
 * the first wallet's workspace if that is a sandbox, and otherwise the house account of that kind and currency.
 */
export const resolve = `CREATE FUNCTION ledger_resolve(parties jsonb) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
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
