import { type Kysely, sql } from 'kysely'

/**
 * Answers under request ids are everybody's, and one process whose clock is a day off would have commands done twice that others
 * are asked again. So an answer counts from the later of the process's clock and the database's own, and is over where both
 * say so.
 */
const functions = [
  sql`CREATE OR REPLACE FUNCTION idempotency_begin(key jsonb, at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_workspace text := coalesce(key->>'workspace', '00000000-0000-0000-0000-000000000000');
    v_found record;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(
      concat_ws(chr(31), key->>'account', v_workspace, key->>'operation', key->>'requestId'), 0)) THEN
      RETURN jsonb_build_object('outcome', 'IN_PROGRESS');
    END IF;
    SELECT body_hash, answer INTO v_found FROM idempotency
     WHERE account_biz_id = (key->>'account')::uuid AND workspace_biz_id = v_workspace::uuid
       AND operation = key->>'operation' AND request_id = key->>'requestId'
       AND created_at > least(at, clock_timestamp()) - interval '24 hours';
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
    IF v_found.body_hash IS DISTINCT FROM key->>'bodyHash' THEN
      RETURN jsonb_build_object('outcome', 'ID_REUSED');
    END IF;
    RETURN jsonb_build_object('outcome', 'REPLAY', 'answer', v_found.answer);
  END $$`,
  sql`CREATE OR REPLACE FUNCTION idempotency_end(key jsonb, answer jsonb, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO idempotency AS kept
    VALUES ((key->>'account')::uuid, coalesce(key->>'workspace', '00000000-0000-0000-0000-000000000000')::uuid,
            key->>'operation', key->>'requestId', key->>'bodyHash', answer, greatest(at, clock_timestamp()))
    ON CONFLICT (account_biz_id, workspace_biz_id, operation, request_id)
      DO UPDATE SET body_hash = excluded.body_hash, answer = excluded.answer, created_at = excluded.created_at
      WHERE kept.created_at <= excluded.created_at - interval '24 hours';
    IF NOT FOUND THEN
      RAISE EXCEPTION 'request % has an answer already', key->>'requestId' USING ERRCODE = 'serialization_failure';
    END IF;
  END $$`,
  sql`CREATE OR REPLACE FUNCTION idempotency_cleanup(at timestamptz, most integer) RETURNS bigint LANGUAGE sql AS $$
    WITH gone AS (
      DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE created_at <= least(at, clock_timestamp()) - interval '24 hours'
         ORDER BY created_at LIMIT most FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*) FROM gone
  $$`,
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const each of functions) await each.execute(database)
}
