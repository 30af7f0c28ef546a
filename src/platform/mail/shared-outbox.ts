import { z } from 'zod'
import type { Database } from '../../database/index.ts'
import { type Clock, locales, toInstant } from '../../kernel/index.ts'
import { mailTemplateNames } from './mailer.ts'
import { composed, type ReadableOutbox } from './outbox.ts'
import { keepMail, keptMails } from './outbox-store.ts'
import type { MailTexts } from './templates.ts'

const Kept = z.object({
  to: z.string(),
  template: z.enum(mailTemplateNames),
  locale: z.enum(locales),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  at: z.int().transform(toInstant),
})

/** The same in the store: what any process of a deployment sends is read at the /mail of every other. */
export const createSharedOutbox = (
  texts: MailTexts,
  clock: Clock,
  limit: number,
  database: Database,
): ReadableOutbox => ({
  send: async (mail) => keepMail(database, composed(texts, clock, mail), limit),
  list: async () => z.array(Kept).parse(await keptMails(database)),
  close: async () => undefined,
})
