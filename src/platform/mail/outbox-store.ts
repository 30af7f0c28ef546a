import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../../database/index.ts'
import { type Clock, locales, toInstant } from '../../kernel/index.ts'
import type { AnyTemplate } from './mailer.ts'
import { composeMail, outboxSize, type ReadableOutbox } from './outbox.ts'
import type { MailTexts } from './templates.ts'

const StoredMail = z.object({
  to: z.string(),
  template: z.custom<AnyTemplate>((name) => typeof name === 'string'),
  locale: z.enum(locales),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  at: z.int().transform(toInstant),
})

export function createSharedOutbox(texts: MailTexts, clock: Clock, database: Database): ReadableOutbox {
  return {
    send: async (mail) => insertMail(database, composeMail(texts, clock, mail)),
    list: async () => z.array(StoredMail).parse(await readMails(database)),
    close: async () => undefined,
  }
}

/** Keeps only the last `outboxSize` emails. */
async function insertMail(database: Database, mail: object): Promise<void> {
  await database
    .insertInto('development_outbox')
    .values({ mail: JSON.stringify(mail) })
    .execute()
  await sql`
    DELETE FROM development_outbox
    WHERE sequence <= (SELECT sequence FROM development_outbox ORDER BY sequence DESC OFFSET ${outboxSize} LIMIT 1)
  `.execute(database)
}

async function readMails(database: Database): Promise<unknown[]> {
  const rows = await database.selectFrom('development_outbox').select('mail').orderBy('sequence', 'desc').execute()
  return rows.map(({ mail }) => mail)
}
