/**
 * A money command, whole, in one round trip and one transaction. Its shape is src/ledger/command.ts; its answer is
 * `{outcome, account?, answer?}` with outcome DONE, REPLAY, IN_PROGRESS, ID_REUSED, NOT_FOUND, CURRENCY_MISMATCH,
 * NOT_ACTIVE, INSUFFICIENT_FUNDS, CONFLICT or OWN_ORDER. Anything but DONE has written nothing.
 * Locks are taken in one order everywhere: the request's key, the order, then accounts by id.
 * Time never goes back for an order or an account: the latest of the command's and theirs is what counts.
 */
export const execute = [
  `CREATE FUNCTION ledger_execute(command jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := (command->>'at')::timestamptz;
    v_at timestamptz := v_now;
    v_key jsonb := command->'idempotency';
    v_move jsonb := command->'move';
    v_ending text := v_move->>'endHolds';
    v_parties ledger_party[] := ledger_parties(command);
    v_ids uuid[];
    v_locked ledger_accounts[];
    v_order orders;
    v_freed jsonb := '{}';
    v_outcome jsonb;
    v_answer jsonb;
  BEGIN
    IF v_key IS NOT NULL THEN
      v_outcome := idempotency_begin(v_key, v_now);
      IF v_outcome IS NOT NULL THEN
        RETURN v_outcome;
      END IF;
    END IF;

    v_ids := ARRAY(SELECT p.account FROM unnest(v_parties) AS p);
    IF v_move IS NOT NULL THEN
      SELECT * INTO v_order FROM orders
       WHERE biz_id = (v_move->>'id')::uuid AND order_type = v_move->>'type'
         AND (v_move->>'workspace' IS NULL OR workspace_biz_id = (v_move->>'workspace')::uuid)
         FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'NOT_FOUND');
      ELSIF (v_move->>'notByCreator')::boolean AND v_order.created_by = (command->>'actor')::uuid THEN
        RETURN jsonb_build_object('outcome', 'OWN_ORDER');
      ELSIF NOT v_move->'expected' ? v_order.status THEN
        RETURN jsonb_build_object('outcome', 'CONFLICT');
      END IF;
      v_at := greatest(v_at, v_order.updated_at);
      IF v_ending IS NOT NULL THEN
        SELECT jsonb_object_agg(account_biz_id, amount) INTO v_freed
          FROM (SELECT account_biz_id, sum(amount) AS amount FROM ledger_holds
                 WHERE order_biz_id = v_order.biz_id AND status = 'HELD' GROUP BY account_biz_id) AS h;
        IF v_freed IS NULL THEN
          RETURN jsonb_build_object('outcome', 'CONFLICT');
        END IF;
        v_ids := v_ids || ARRAY(SELECT id::uuid FROM jsonb_object_keys(v_freed) AS id);
      END IF;
    END IF;

    v_locked := ledger_lock(v_ids);
    v_outcome := ledger_objection(v_parties, v_locked, command, v_freed);
    IF v_outcome IS NOT NULL THEN
      RETURN v_outcome;
    END IF;
    SELECT greatest(v_at, max(a.last_entry_at)) INTO v_at FROM unnest(v_locked) AS a;

    IF command ? 'create' OR v_move IS NOT NULL THEN
      v_order := ledger_write_order(command, v_order, v_parties, v_locked, v_at);
      v_answer := order_json(v_order);
    END IF;
    IF v_ending IS NOT NULL THEN
      UPDATE ledger_holds SET status = v_ending, ended_at = v_at
       WHERE order_biz_id = v_order.biz_id AND status = 'HELD';
    END IF;
    IF command ? 'entries' THEN
      PERFORM ledger_write_entries(command, v_parties, v_order.biz_id, v_at);
    END IF;
    IF command ? 'holds' THEN
      PERFORM ledger_write_holds(command, v_parties, v_order, v_at);
    END IF;
    IF v_key IS NOT NULL THEN
      PERFORM idempotency_end(v_key, coalesce(v_answer, 'null'), v_now);
    END IF;
    IF command ? 'audit' THEN
      INSERT INTO audit_log (at, portal, actor_biz_id, workspace_biz_id, action, target_biz_id, outcome,
                             request_id, client_ip, detail)
      SELECT v_at, a.portal, (command->>'actor')::uuid, v_order.workspace_biz_id, a.action, v_order.biz_id::text,
             'SUCCESS', a."requestId", a."clientIp", coalesce(a.detail, '{}')
        FROM jsonb_to_record(command->'audit')
          AS a(portal text, action text, "requestId" text, "clientIp" text, detail jsonb);
    END IF;
    RETURN jsonb_build_object('outcome', 'DONE', 'answer', v_answer);
  END $$`,
]
