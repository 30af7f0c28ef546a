/**
 * Runs a money command in one round trip and one transaction. `toCommandJson` in commands/execute-store.ts builds the
 * argument. The result is `{outcome, account?, usage?, result?}`. Only the outcome DONE writes rows.
 *
 * Lock order: the request's key, the workspaces and the creator of the order (`whileActive`), the order, the accounts by
 * id, then the rolling sums.
 *
 * Timestamps of an order or account never decrease. All rows get the latest of three times: the command, the last
 * change of the order, and the last entry of the accounts.
 */
export const execute = [
  `CREATE FUNCTION ledger_lock_order(command jsonb, OUT locked orders, OUT refusal text) LANGUAGE plpgsql AS $$
  DECLARE
    v_move jsonb := command->'move';
    v_is_active boolean := NOT v_move ? 'whileActive' OR ledger_lock_maker(v_move);
  BEGIN
    SELECT * INTO locked FROM orders
     WHERE biz_id = (v_move->>'id')::uuid AND order_type = v_move->>'type'
       AND (v_move->>'workspace' IS NULL OR workspace_biz_id = (v_move->>'workspace')::uuid)
       FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      refusal := 'NOT_FOUND';
      RETURN;
    END IF;
    refusal := ledger_duty_objection(command, locked);
    -- A repeated decision of the same operator is a conflict.
    IF coalesce(refusal, 'EARLIER_ACTOR') = 'EARLIER_ACTOR' AND NOT v_move->'expected' ? locked.status THEN
      refusal := 'CONFLICT';
    ELSIF refusal IS NULL AND v_is_active IS NOT TRUE THEN
      refusal := 'MAKER_NOT_ACTIVE';
    END IF;
  END $$`,
  executeBy('CREATE', { start: "(command->>'at')::timestamptz", locked: '' }),
]

/**
 * With `databaseClock`, the rows of a command have the database's time after the locks. A command of a process whose clock
 * is wrong, or that waited for locks, would otherwise be dated wrongly.
 *
 * `ledger_settled` waits for the commands that have locked the account, and returns the time up to which its past no longer
 * changes.
 */
export const databaseClock = [
  `CREATE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT date_trunc('milliseconds', clock_timestamp())
  $$`,
  `CREATE FUNCTION ledger_settled(account uuid, workspace uuid) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
      PERFORM FROM ledger_accounts WHERE biz_id = account AND workspace_biz_id = workspace FOR SHARE;
    END IF;
    RETURN ledger_now() - interval '1 millisecond';
  END $$`,
  executeBy('CREATE OR REPLACE', {
    start: "CASE WHEN command ? 'databaseClock' THEN ledger_now() ELSE (command->>'at')::timestamptz END",
    locked: `
    IF command ? 'databaseClock' THEN
      v_at := greatest(v_at, ledger_now());
    END IF;`,
  }),
]

function executeBy(create: string, time: { start: string; locked: string }): string {
  return `${create} FUNCTION ledger_execute(command jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := ${time.start};
    v_at timestamptz := v_now;
    v_key jsonb := command->'idempotency';
    v_end_status text := command->'move'->>'endHolds';
    v_ids uuid[] := ledger_resolve(command->'accounts');
    v_affected uuid[] := v_ids;
    v_locked ledger_accounts[];
    v_account ledger_accounts;
    v_target uuid;
    v_order orders;
    v_lookup record;
    v_freed jsonb := '{}';
    v_outcome jsonb;
    v_result jsonb := 'null';
    v_usage jsonb;
    v_exceeded integer;
  BEGIN
    IF v_key IS NOT NULL THEN
      v_outcome := idempotency_begin(v_key, v_now);
      IF v_outcome IS NOT NULL THEN
        RETURN v_outcome;
      END IF;
    END IF;

    IF command ? 'move' THEN
      SELECT * INTO v_lookup FROM ledger_lock_order(command);
      IF v_lookup.refusal IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', v_lookup.refusal);
      END IF;
      v_order := v_lookup.locked;
      v_at := greatest(v_at, v_order.updated_at);
      IF v_end_status IS NOT NULL THEN
        SELECT jsonb_object_agg(account_biz_id, amount), v_affected || array_agg(account_biz_id) INTO v_freed, v_affected
          FROM (SELECT account_biz_id, sum(amount) AS amount FROM ledger_holds
                 WHERE order_biz_id = v_order.biz_id AND status = 'HELD' GROUP BY account_biz_id) AS h;
        IF v_freed IS NULL THEN
          RETURN jsonb_build_object('outcome', 'CONFLICT');
        END IF;
      END IF;
    END IF;

    v_locked := ledger_lock(v_affected);${time.locked}
    IF is_operator((command->>'actor')::uuid)
       AND is_person_in((command->>'actor')::uuid, ARRAY(SELECT workspace_biz_id FROM unnest(v_locked))) THEN
      RETURN jsonb_build_object('outcome', 'OWN_WORKSPACE');
    END IF;
    v_outcome := ledger_objection(v_ids, v_locked, command, v_freed);
    IF v_outcome IS NOT NULL THEN
      RETURN v_outcome;
    END IF;
    FOREACH v_account IN ARRAY v_locked LOOP
      v_at := greatest(v_at, v_account.last_entry_at);
      IF v_account.biz_id = v_ids[(command->'create'->>'target')::integer + 1] THEN
        v_target := v_account.workspace_biz_id;
      END IF;
    END LOOP;

    IF command ? 'usage' THEN
      v_usage := ledger_usage_resolve(command, v_target);
      v_exceeded := ledger_usage_exceeded(v_usage, v_at);
      IF v_exceeded IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'USAGE_EXCEEDED', 'usage', v_exceeded);
      END IF;
    END IF;
    IF command ? 'create' OR command ? 'move' THEN
      v_order := ledger_write_order(command, v_order, v_ids, v_target, v_at);
      v_result := order_json(v_order);
    END IF;
    IF v_end_status IS NOT NULL THEN
      UPDATE ledger_holds SET status = v_end_status, ended_at = v_at
       WHERE order_biz_id = v_order.biz_id AND status = 'HELD';
    END IF;
    IF command ? 'entries' THEN
      PERFORM ledger_write_entries(command, v_ids, v_order.biz_id, v_at);
    END IF;
    IF command ? 'holds' THEN
      PERFORM ledger_write_holds(command, v_ids, v_order, v_at);
    END IF;
    IF command ? 'usage' THEN
      PERFORM ledger_write_usage(v_usage, v_order);
    END IF;
    IF command ? 'audit' THEN
      PERFORM ledger_write_audit(command, v_order, v_at);
    END IF;
    IF v_key IS NOT NULL THEN
      PERFORM idempotency_end(v_key, v_result, v_now);
    END IF;
    RETURN jsonb_build_object('outcome', 'DONE', 'result', v_result);
  END $$`
}
