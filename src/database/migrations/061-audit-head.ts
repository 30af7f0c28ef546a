import { type Kysely, sql } from 'kysely'

/** The head of the audit log's chain only moves on: set back, it would hide whatever was sealed after that place. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE FUNCTION audit_chain_guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'UPDATE' THEN
        IF NEW.sequence > OLD.sequence THEN RETURN NEW; END IF;
      END IF;
      RAISE EXCEPTION 'the audit log is append-only: % of its head refused', TG_OP
        USING ERRCODE = 'insufficient_privilege';
    END $$`.execute(database)
  await sql`
    CREATE TRIGGER audit_chain_guard BEFORE UPDATE OR DELETE ON audit_chain
      FOR EACH ROW EXECUTE FUNCTION audit_chain_guard()`.execute(database)
  await sql`
    CREATE TRIGGER audit_chain_guard_truncate BEFORE TRUNCATE ON audit_chain
      FOR EACH STATEMENT EXECUTE FUNCTION audit_chain_guard()`.execute(database)
}
