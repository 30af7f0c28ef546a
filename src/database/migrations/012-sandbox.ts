import { type Kysely, sql } from 'kysely'

/**
 * Play money stays play money: an order may not lead from a SANDBOX workspace to a LIVE one, nor back. The database
 * keeps it, whatever the code above it does.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE FUNCTION orders_one_kind() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(DISTINCT workspace_kind) FROM workspaces
           WHERE biz_id IN (NEW.workspace_biz_id, NEW.counterparty_workspace_biz_id)) > 1 THEN
        RAISE EXCEPTION 'order % leads from a sandbox to a live workspace or back', NEW.biz_id
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN NEW;
    END $$`.execute(database)
  await sql`
    CREATE TRIGGER orders_one_kind BEFORE INSERT ON orders FOR EACH ROW
      WHEN (NEW.counterparty_workspace_biz_id IS NOT NULL) EXECUTE FUNCTION orders_one_kind()`.execute(database)
}
