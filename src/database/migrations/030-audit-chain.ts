import { type Kysely, sql } from 'kysely'

/**
 * What keeps the audit log append-only. A row comes unsealed; its sealing columns are set once, by the sealer, and
 * nothing else of it ever changes. The head is where the chain ends, so that rows cut off at the end are missed.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE audit_chain (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      sequence bigint NOT NULL,
      hash bytea NOT NULL
    )`.execute(database)
  await sql`INSERT INTO audit_chain (sequence, hash) VALUES (0, decode(repeat('00', 32), 'hex'))`.execute(database)
  await sql`
    ALTER TABLE audit_log ADD CONSTRAINT audit_log_sealed_whole CHECK (
      (sequence IS NULL) = (hash IS NULL) AND (sequence IS NULL) = (previous_hash IS NULL))`.execute(database)
  await sql`
    CREATE FUNCTION audit_log_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'UPDATE' AND OLD.sequence IS NULL AND NEW.sequence IS NOT NULL
         AND to_jsonb(OLD) - '{sequence,previous_hash,hash}'::text[] = to_jsonb(NEW) - '{sequence,previous_hash,hash}'::text[]
      THEN RETURN NEW; END IF;
      RAISE EXCEPTION 'the audit log is append-only: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
    END $$`.execute(database)
  await sql`
    CREATE TRIGGER audit_log_guard BEFORE UPDATE OR DELETE ON audit_log
      FOR EACH ROW EXECUTE FUNCTION audit_log_guard()`.execute(database)
  await sql`
    CREATE TRIGGER audit_log_guard_truncate BEFORE TRUNCATE ON audit_log
      FOR EACH STATEMENT EXECUTE FUNCTION audit_log_guard()`.execute(database)
  await sql`CREATE INDEX audit_log_workspace ON audit_log (workspace_biz_id, at)`.execute(database)
  await sql`CREATE INDEX audit_log_actor ON audit_log (actor_biz_id, at)`.execute(database)
}
