/**
 * Mails from templates in each language. `Mailer` (mailer.ts) has two implementations: SMTP, and a development outbox
 * that is read at /mail, in memory or shared through the database. templates.ts reads and checks the texts, render.ts
 * fills them in.
 */

export type { Mailer, MailTemplate } from './mailer.ts'
export { createOutbox, type Outbox } from './outbox.ts'
export { outboxPage } from './outbox-page.ts'
export { createSharedOutbox } from './shared-outbox.ts'
export { openSmtpMailer } from './smtp.ts'
export { type MailTexts, readMailTexts } from './templates.ts'
