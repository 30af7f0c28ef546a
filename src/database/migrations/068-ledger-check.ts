import { type Kysely, sql } from 'kysely'

/** What the last check of the book has found, in the one row: one replica checks, and all of them go by it. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE ledger_check (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      checked_at timestamptz NOT NULL,
      rule text,
      subject text,
      violations bigint NOT NULL,
      CHECK ((rule IS NULL) = (violations = 0)),
      CHECK ((rule IS NULL) = (subject IS NULL))
    )`.execute(database)
}
