/**
 * Renders emails from templates, one per language, and sends them. Start with `Mailer` (mailer.ts). It has two
 * implementations: SMTP, and a development outbox at /mail, in memory or in the database. templates.ts validates the
 * texts, and render.ts fills them in. mail-queue.ts sends without a wait. Depends on the kernel, the database and
 * background work.
 */

export { createMailQueue, type MailQueue } from './mail-queue.ts'
export { type AnyTemplate, type Mailer, withMailMetrics } from './mailer.ts'
export { createOutbox, mailedSignInCodes, type Outbox, outboxPage, type ReadableOutbox } from './outbox.ts'
export { createSharedOutbox } from './outbox-store.ts'
export { escapeHtml } from './render.ts'
export { openSmtpMailer } from './smtp.ts'
export { type MailTexts, readMailTexts } from './templates.ts'
