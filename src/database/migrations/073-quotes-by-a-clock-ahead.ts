import { type Kysely, sql } from 'kysely'

/**
 * An order's time is that of its accounts where they are ahead, and the house's are everybody's: one process whose clock was
 * ahead for a moment would have every new quote expired until that time has come. So a quote is over where the database's own
 * clock says so too. Where the clocks agree the order's time is the earlier of the two, and decides as before.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE OR REPLACE FUNCTION exchange_quotes_spend() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE exchange_quotes SET order_biz_id = NEW.biz_id
       WHERE workspace_biz_id = NEW.workspace_biz_id AND biz_id = (NEW.data->>'quoteBizId')::uuid
         AND source_wallet_biz_id = NEW.source_wallet_biz_id AND target_wallet_biz_id = NEW.target_wallet_biz_id
         AND order_biz_id IS NULL AND expires_at > least(NEW.created_at, clock_timestamp()) AND NEW.data @> figures;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'order % has no open quote', NEW.biz_id USING ERRCODE = 'PQ001';
      END IF;
      RETURN NULL;
    END $$`.execute(database)
}
