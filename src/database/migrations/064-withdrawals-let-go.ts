import { type Kysely, sql } from 'kysely'

/**
 * A withdrawal holds its channel when it is let go too, as when it is made: none goes under way to an account that is
 * being taken back at the same time. SQLSTATE PW001, as there.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TRIGGER withdrawal_channels_still AFTER UPDATE OF status ON orders
      FOR EACH ROW WHEN (NEW.order_type = 'WITHDRAWAL' AND OLD.status = 'PENDING_APPROVAL' AND NEW.status = 'PROCESSING')
      EXECUTE FUNCTION withdrawal_channels_require()`.execute(database)
}
