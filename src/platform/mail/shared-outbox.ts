import { z } from 'zod'
import type { Database } from '../../database/index.ts'
import { type Clock, locales, toInstant } from '../../kernel/index.ts'
import { mailTemplateNames } from './mailer.ts'
import { composeMail, type ReadableOutbox } from './outbox.ts'
import { insertMail, readMails } from './outbox-store.ts'
import type { MailTexts } from './templates.ts'

const StoredMail = z.object({
  to: z.string(),
  template: z.enum(mailTemplateNames),
  locale: z.enum(locales),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  at: z.int().transform(toInstant),
})

/** The development mailer of several processes. Keeps mails in the database, so that each process shows all of them. */
export const createSharedOutbox = (
  texts: MailTexts,
  clock: Clock,
  limit: number,
  database: Database,
): ReadableOutbox => ({
  send: async (mail) => insertMail(database, composeMail(texts, clock, mail), limit),
  list: async () => z.array(StoredMail).parse(await readMails(database)),
  close: async () => undefined,
})
