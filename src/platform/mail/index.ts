export { type Mail, type Mailer, type MailTemplate, type MailValues, mailTemplates } from './mailer.ts'
export { createOutbox, type Outbox, type OutboxMail } from './outbox.ts'
export { createSmtpMailer, type SmtpSettings } from './smtp.ts'
export { loadMailTexts, type MailText, type MailTexts } from './templates.ts'
