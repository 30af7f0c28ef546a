const noWorkspace = `'00000000-0000-0000-0000-000000000000'`

/**
 * Results of commands by request id, valid for 24 hours. A command calls `idempotency_begin` first and
 * `idempotency_end` last, in one transaction. The advisory lock does not wait: a concurrent request with the same key
 * fails immediately.
 *
 * A process with a wrong clock must not execute a command twice. A result therefore expires only when it is older than
 * 24 hours by the clocks of both the process and the database.
 */
export const idempotency = [
  `CREATE TABLE idempotency (
    account_biz_id uuid NOT NULL,
    workspace_biz_id uuid NOT NULL,
    operation text NOT NULL,
    request_id text NOT NULL,
    body_hash text NOT NULL,
    result jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_biz_id, workspace_biz_id, operation, request_id)
  )`,
  `CREATE INDEX idempotency_at ON idempotency (created_at)`,
  // Returns NULL if the command must be executed.
  `CREATE FUNCTION idempotency_begin(key jsonb, at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_workspace text := coalesce(key->>'workspace', ${noWorkspace});
    v_found record;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(
      concat_ws(chr(31), key->>'account', v_workspace, key->>'operation', key->>'requestId'), 0)) THEN
      RETURN jsonb_build_object('outcome', 'IN_PROGRESS');
    END IF;
    SELECT body_hash, result INTO v_found FROM idempotency
     WHERE account_biz_id = (key->>'account')::uuid AND workspace_biz_id = v_workspace::uuid
       AND operation = key->>'operation' AND request_id = key->>'requestId'
       AND created_at > least(at, clock_timestamp()) - interval '24 hours';
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
    IF v_found.body_hash IS DISTINCT FROM key->>'bodyHash' THEN
      RETURN jsonb_build_object('outcome', 'ID_REUSED');
    END IF;
    RETURN jsonb_build_object('outcome', 'REPLAY', 'result', v_found.result);
  END $$`,
  `CREATE FUNCTION idempotency_end(key jsonb, result jsonb, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO idempotency AS stored
    VALUES ((key->>'account')::uuid, coalesce(key->>'workspace', ${noWorkspace})::uuid,
            key->>'operation', key->>'requestId', key->>'bodyHash', result, greatest(at, clock_timestamp()))
    ON CONFLICT (account_biz_id, workspace_biz_id, operation, request_id)
      DO UPDATE SET body_hash = excluded.body_hash, result = excluded.result, created_at = excluded.created_at
      WHERE stored.created_at <= excluded.created_at - interval '24 hours';
    IF NOT FOUND THEN
      RAISE EXCEPTION 'request % already has a result', key->>'requestId' USING ERRCODE = 'serialization_failure';
    END IF;
  END $$`,
  // clock_timestamp() is volatile. The subquery evaluates it once, which permits an index scan.
  `CREATE FUNCTION idempotency_cleanup(at timestamptz, max_results integer) RETURNS bigint LANGUAGE sql AS $$
    WITH deleted AS (
      DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE created_at <= (SELECT least(at, clock_timestamp()) - interval '24 hours')
         ORDER BY created_at LIMIT max_results FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*) FROM deleted
  $$`,
]

/**
 * All checks of one transaction agree. A hook skips a repeated request, so the command must not find its result expired
 * a moment later, or deleted, and execute it.
 */
export const oneInstantPerTransaction = `CREATE OR REPLACE FUNCTION idempotency_begin(key jsonb, at timestamptz)
  RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_workspace text := coalesce(key->>'workspace', ${noWorkspace});
    v_at timestamptz := coalesce(nullif(current_setting('portico.idempotency_at', true), '')::timestamptz,
      least(at, clock_timestamp()));
    v_found record;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(
      concat_ws(chr(31), key->>'account', v_workspace, key->>'operation', key->>'requestId'), 0)) THEN
      RETURN jsonb_build_object('outcome', 'IN_PROGRESS');
    END IF;
    SELECT body_hash, result INTO v_found FROM idempotency
     WHERE account_biz_id = (key->>'account')::uuid AND workspace_biz_id = v_workspace::uuid
       AND operation = key->>'operation' AND request_id = key->>'requestId'
       AND created_at > v_at - interval '24 hours'
       FOR KEY SHARE;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
    PERFORM set_config('portico.idempotency_at', v_at::text, true);
    IF v_found.body_hash IS DISTINCT FROM key->>'bodyHash' THEN
      RETURN jsonb_build_object('outcome', 'ID_REUSED');
    END IF;
    RETURN jsonb_build_object('outcome', 'REPLAY', 'result', v_found.result);
  END $$`
