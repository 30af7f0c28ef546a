/**
 * Mails from templates in each language. `Mailer` (mailer.ts) has two implementations: SMTP, and a development outbox
 * that is read at /mail, in memory or shared through the database. templates.ts reads and validates the texts, render.ts
 * fills them in. Depends on the kernel and the database.
 */

export type { Mailer, MailTemplate } from './mailer.ts'
export { createOutbox, type Outbox, outboxPage, type ReadableOutbox } from './outbox.ts'
export { createSharedOutbox } from './outbox-store.ts'
export { openSmtpMailer } from './smtp.ts'
export { type MailTexts, readMailTexts } from './templates.ts'
