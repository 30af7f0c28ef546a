import { type Kysely, sql } from 'kysely'

/** An entry comes unsealed: one that brought a place in the chain along would stand in the way of the sealer. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TRIGGER audit_log_guard_insert BEFORE INSERT ON audit_log
      FOR EACH ROW WHEN (NEW.sequence IS NOT NULL) EXECUTE FUNCTION audit_log_guard()`.execute(database)
}
