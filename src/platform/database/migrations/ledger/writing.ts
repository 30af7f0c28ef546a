/** What ledger_execute writes once nothing objects. */
export const writing = [
  `CREATE FUNCTION ledger_write_order(
    command jsonb, existing orders, parties ledger_party[], locked ledger_accounts[], at timestamptz
  ) RETURNS orders LANGUAGE plpgsql AS $$
  DECLARE
    v_new jsonb := command->'create';
    v_move jsonb := command->'move';
    v_steps jsonb := coalesce(v_new, v_move)->'steps';
    v_status text := v_steps->-1->>'status';
    v_order orders;
    v_first integer;
  BEGIN
    IF v_new IS NOT NULL THEN
      INSERT INTO orders VALUES (
        (v_new->>'workspace')::uuid, (v_new->>'id')::uuid,
        (SELECT nullif(a.workspace_biz_id, (v_new->>'workspace')::uuid)
           FROM unnest(parties) AS p JOIN unnest(locked) AS a ON a.biz_id = p.account
          WHERE p.label = 'target' AND p.house IS NULL),
        v_new->>'type', v_new->>'orderNo', v_status, 1,
        (SELECT p.account FROM unnest(parties) AS p WHERE p.label = 'source' AND p.house IS NULL),
        (SELECT p.account FROM unnest(parties) AS p WHERE p.label = 'target' AND p.house IS NULL),
        (command->>'actor')::uuid, v_new->'data', at, at)
      RETURNING * INTO v_order;
      v_first := 0;
    ELSE
      UPDATE orders
         SET status = v_status, version = version + 1, data = data || coalesce(v_move->'data', '{}'), updated_at = at
       WHERE workspace_biz_id = existing.workspace_biz_id AND biz_id = existing.biz_id
      RETURNING * INTO v_order;
      SELECT count(*) INTO v_first FROM order_status_history
       WHERE workspace_biz_id = existing.workspace_biz_id AND order_biz_id = existing.biz_id;
    END IF;
    INSERT INTO order_status_history
    SELECT v_order.workspace_biz_id, v_order.biz_id, v_first + step.position, step.value->>'status', at,
           (command->>'actor')::uuid, step.value->>'reason'
      FROM jsonb_array_elements(v_steps) WITH ORDINALITY AS step(value, position);
    RETURN v_order;
  END $$`,
  // In one statement, so that the zero-sum trigger sees it whole; what comes in before what goes out, account by account.
  `CREATE FUNCTION ledger_write_entries(command jsonb, parties ledger_party[], order_id uuid, at timestamptz)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_written integer;
  BEGIN
    INSERT INTO ledger_entries
      (account_biz_id, biz_id, transaction_biz_id, order_biz_id, currency, amount, flow_type, created_at)
    SELECT p.account, e.id, (command->>'transaction')::uuid, order_id, p.currency, e.amount, e."flowType", at
      FROM jsonb_to_recordset(command->'entries') AS e(id uuid, account text, amount minor_units, "flowType" text)
      JOIN unnest(parties) AS p ON p.label = e.account
     ORDER BY p.account, e.amount < 0, e.id;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written <> jsonb_array_length(command->'entries') THEN
      RAISE EXCEPTION 'an entry names no account of its command';
    END IF;
  END $$`,
  `CREATE FUNCTION ledger_write_holds(command jsonb, parties ledger_party[], held_for orders, at timestamptz)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_written integer;
  BEGIN
    INSERT INTO ledger_holds
      (workspace_biz_id, biz_id, account_biz_id, order_biz_id, amount, status, created_at)
    SELECT held_for.workspace_biz_id, h.id, p.account, held_for.biz_id, h.amount, 'HELD', at
      FROM jsonb_to_recordset(command->'holds') AS h(id uuid, account text, amount minor_units)
      JOIN unnest(parties) AS p ON p.label = h.account;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written <> jsonb_array_length(command->'holds') THEN
      RAISE EXCEPTION 'a hold names no account of its command';
    END IF;
  END $$`,
]
