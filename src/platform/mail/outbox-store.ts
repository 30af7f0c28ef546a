import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'

/** Stores a mail, and deletes all but the last `limit` mails. */
export const insertMail = async (database: Database, mail: object, limit: number): Promise<void> => {
  await database
    .insertInto('development_outbox')
    .values({ mail: JSON.stringify(mail) })
    .execute()
  await sql`
    DELETE FROM development_outbox
    WHERE sequence <= (SELECT sequence FROM development_outbox ORDER BY sequence DESC OFFSET ${limit} LIMIT 1)
  `.execute(database)
}

/** Newest first. */
export const readMails = async (database: Database): Promise<unknown[]> => {
  const rows = await database.selectFrom('development_outbox').select('mail').orderBy('sequence', 'desc').execute()
  return rows.map(({ mail }) => mail)
}
