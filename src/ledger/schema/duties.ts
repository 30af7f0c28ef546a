/** An equal person_key identifies the accounts of one person. An operator is an account of the SYSTEM portal. */
export const duties = [
  `CREATE FUNCTION is_same_person(account uuid, others uuid[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN coalesce(account = ANY (others), false) OR EXISTS (
      SELECT FROM accounts own JOIN accounts other ON other.person_key = own.person_key
       WHERE own.biz_id = account AND other.biz_id = ANY (others));
  END $$`,
  `CREATE FUNCTION is_person_in(account uuid, workspaces uuid[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN EXISTS (
      SELECT FROM accounts own JOIN accounts other ON other.person_key = own.person_key
        JOIN memberships m ON m.account_biz_id = other.biz_id
       WHERE own.biz_id = account AND m.workspace_biz_id = ANY (workspaces));
  END $$`,
  `CREATE FUNCTION is_operator(account uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN account IS NOT NULL AND EXISTS (SELECT FROM accounts WHERE biz_id = account AND portal = 'SYSTEM');
  END $$`,
  // Returns why the actor may not decide, or NULL. The order must be locked, because its history names the earlier
  // actors. "separation" maps a currency to the amount from which separation applies.
  `CREATE FUNCTION ledger_duty_objection(command jsonb, decided orders) RETURNS text LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_actor uuid := (command->>'actor')::uuid;
    v_move jsonb := command->'move';
    v_amount text := decided.data->>'amount';
    v_from text := v_move->'separation'->>(decided.data->>'currency');
  BEGIN
    IF v_actor IS NULL OR v_move->>'workspace' IS NOT NULL THEN
      RETURN NULL;
    END IF;
    IF is_same_person(v_actor, ARRAY[decided.created_by]) THEN
      RETURN 'OWN_ORDER';
    END IF;
    IF is_operator(v_actor)
       AND is_person_in(v_actor, ARRAY[decided.workspace_biz_id, decided.counterparty_workspace_biz_id]) THEN
      RETURN 'OWN_WORKSPACE';
    END IF;
    IF NOT v_move ? 'separation' OR (CASE WHEN v_amount ~ '^\\d+$' THEN v_amount::numeric < v_from::numeric END) THEN
      RETURN NULL;
    END IF;
    IF is_same_person(v_actor,
         ARRAY(SELECT (step->>'actorBizId')::uuid FROM jsonb_array_elements(decided.history) AS step)
         || ARRAY(SELECT prior::uuid FROM jsonb_array_elements_text(v_move->'priorActors') AS prior)) THEN
      RETURN 'EARLIER_ACTOR';
    END IF;
    RETURN NULL;
  END $$`,
  // Locks the order's workspaces and creator, so that none can be frozen or suspended before the transaction ends.
  // The order needs no lock, because they never change.
  `CREATE FUNCTION ledger_lock_maker(move jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    v_order orders;
    v_is_active boolean;
    v_creator text;
  BEGIN
    SELECT * INTO v_order FROM orders WHERE biz_id = (move->>'id')::uuid AND order_type = move->>'type';
    SELECT bool_and(locked.workspace_status = 'ACTIVE') INTO v_is_active FROM (
      SELECT workspace_status FROM workspaces
       WHERE biz_id IN (v_order.workspace_biz_id, v_order.counterparty_workspace_biz_id)
       ORDER BY biz_id FOR SHARE) AS locked;
    SELECT account_status INTO v_creator FROM accounts WHERE biz_id = v_order.created_by FOR SHARE;
    RETURN v_is_active AND coalesce(v_creator, 'ACTIVE') = 'ACTIVE';
  END $$`,
]

/**
 * How long a person still belongs to a workspace that they left. Equals the time after which the gateway trusts a new
 * payout account: until then, an operator could leave in order to decide, and join again.
 */
export const formerMemberHours = 72

/** `former_memberships` is in src/banking/members/schema.ts. */
export const formerMembers = [
  `CREATE OR REPLACE FUNCTION is_person_in(account uuid, workspaces uuid[]) RETURNS boolean
  LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN EXISTS (
      SELECT FROM accounts own JOIN accounts other ON other.person_key = own.person_key
        JOIN memberships m ON m.account_biz_id = other.biz_id
       WHERE own.biz_id = account AND m.workspace_biz_id = ANY (workspaces))
    OR EXISTS (
      SELECT FROM accounts own JOIN accounts other ON other.person_key = own.person_key
        JOIN former_memberships f ON f.account_biz_id = other.biz_id
       WHERE own.biz_id = account AND f.workspace_biz_id = ANY (workspaces)
         AND f.ended_at > statement_timestamp() - interval '${formerMemberHours} hours');
  END $$`,
]

/**
 * The mirror of `formerMembers`: otherwise, an operator could decide first and join afterwards. The audit log names the
 * workspace of an order, and the order the other one.
 */
export const formerDeciders = [
  `CREATE FUNCTION has_person_decided(account uuid, workspace uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN EXISTS (
      SELECT FROM accounts own
        JOIN accounts operator ON operator.person_key = own.person_key AND operator.portal = 'SYSTEM'
        JOIN audit_log a ON a.actor_biz_id = operator.biz_id
       WHERE own.biz_id = account AND a.outcome = 'SUCCESS'
         AND a.at > statement_timestamp() - interval '${formerMemberHours} hours'
         AND (a.workspace_biz_id = workspace OR EXISTS (
           SELECT FROM orders o
            WHERE o.biz_id = CASE WHEN a.target_biz_id ~ '^[0-9a-f-]{36}$' THEN a.target_biz_id::uuid END
              AND o.counterparty_workspace_biz_id = workspace)));
  END $$`,
]
