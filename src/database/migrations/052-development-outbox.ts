import { type Kysely, sql } from 'kysely'

/**
 * The mails of a development deployment without a mail server, which its processes share. Production demands a mail
 * server and never writes here.
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE development_outbox (
      sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      mail jsonb NOT NULL
    )`.execute(database)
}
