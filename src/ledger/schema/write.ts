/** The functions that write the rows of an accepted command. `ledger_execute` calls them. */
export const write = [
  writeOrder('CREATE'),
  // Use one statement, because the zero-sum trigger checks the entries of one statement. Credits come before debits,
  // because the balance may not become negative.
  `CREATE FUNCTION ledger_write_entries(command jsonb, ids uuid[], order_id uuid, at timestamptz)
  RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ledger_entries
      (account_biz_id, biz_id, transaction_biz_id, order_biz_id, currency, amount, flow_type, created_at)
    SELECT ids[e.account + 1], e.id, (command->>'transaction')::uuid, order_id,
           command->'accounts'->e.account->>'currency', e.amount, e."flowType", at
      FROM jsonb_to_recordset(command->'entries') AS e(id uuid, account integer, amount minor_units, "flowType" text)
     ORDER BY 1, e.amount < 0, e.id;
  END $$`,
  `CREATE FUNCTION ledger_write_holds(command jsonb, ids uuid[], held_for orders, at timestamptz)
  RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ledger_holds (workspace_biz_id, biz_id, account_biz_id, order_biz_id, amount, status, created_at)
    SELECT held_for.workspace_biz_id, h.id, ids[h.account + 1], held_for.biz_id, h.amount, 'HELD', at
      FROM jsonb_to_recordset(command->'holds') AS h(id uuid, account integer, amount minor_units);
  END $$`,
  `CREATE FUNCTION ledger_write_audit(command jsonb, about orders, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_facts jsonb := command->'audit';
  BEGIN
    INSERT INTO audit_log
      (at, portal, actor_biz_id, workspace_biz_id, action, target_biz_id, outcome, request_id, client_ip, detail)
    VALUES (at, v_facts->>'portal', (command->>'actor')::uuid, about.workspace_biz_id, v_facts->>'action',
            about.biz_id::text, 'SUCCESS', v_facts->>'requestId', v_facts->>'clientIp',
            coalesce(v_facts->'detail', '{}'));
  END $$`,
]

export const returnedLimits = writeOrder(
  'CREATE OR REPLACE',
  `      IF v_move ? 'returnsUsage' THEN
        DELETE FROM ledger_usage WHERE order_biz_id = existing.biz_id;
      END IF;
`,
)

/** "target" is the workspace of the target wallet. */
function writeOrder(create: string, returnUsage = ''): string {
  return `${create} FUNCTION ledger_write_order(command jsonb, existing orders, ids uuid[], target uuid, at timestamptz)
  RETURNS orders LANGUAGE plpgsql AS $$
  DECLARE
    v_new jsonb := command->'create';
    v_move jsonb := command->'move';
    v_steps jsonb := coalesce(v_new, v_move)->'steps';
    v_status text := v_steps->-1->>'status';
    v_actor uuid := (command->>'actor')::uuid;
    v_order orders;
    v_history jsonb := '[]';
  BEGIN
    FOR i IN 0 .. jsonb_array_length(v_steps) - 1 LOOP
      v_history := v_history || jsonb_build_object('status', v_steps->i->'status', 'at', iso_utc(at),
        'actorBizId', v_actor, 'reason', v_steps->i->'reason');
    END LOOP;
    IF v_new IS NOT NULL THEN
      INSERT INTO orders (workspace_biz_id, biz_id, counterparty_workspace_biz_id, order_type, order_no, status,
        source_wallet_biz_id, target_wallet_biz_id, created_by, data, history, created_at,
        updated_at)
      VALUES ((v_new->>'workspace')::uuid, (v_new->>'id')::uuid, nullif(target, (v_new->>'workspace')::uuid),
        v_new->>'type', v_new->>'orderNo', v_status, ids[(v_new->>'source')::integer + 1],
        ids[(v_new->>'target')::integer + 1], v_actor, v_new->'data', v_history, at, at)
      RETURNING * INTO v_order;
    ELSE
      UPDATE orders
         SET status = v_status, version = version + 1, data = data || coalesce(v_move->'data', '{}'),
             history = history || v_history, updated_at = at
       WHERE workspace_biz_id = existing.workspace_biz_id AND biz_id = existing.biz_id
      RETURNING * INTO v_order;
${returnUsage}    END IF;
    RETURN v_order;
  END $$`
}
