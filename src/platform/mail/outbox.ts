import { type Clock, type Instant, type Locale, parseMailbox } from '../../kernel/index.ts'
import type { Mail, Mailer, MailTemplate } from './mailer.ts'
import { renderMail } from './render.ts'
import type { MailText, MailTexts } from './templates.ts'

export interface OutboxMail extends MailText {
  to: string
  template: MailTemplate
  locale: Locale
  at: Instant
}

export interface ReadableOutbox extends Mailer {
  /** Newest first. */
  list(): readonly OutboxMail[] | Promise<readonly OutboxMail[]>
}

export interface Outbox extends ReadableOutbox {
  list(): readonly OutboxMail[]
}

/** A mail as it would leave now. */
export const composed = <T extends MailTemplate>(texts: MailTexts, clock: Clock, mail: Mail<T>): OutboxMail => ({
  ...renderMail(texts, mail),
  to: parseMailbox(mail.to),
  template: mail.template,
  locale: mail.locale,
  at: clock.now(),
})

/** The development mailer: keeps the last `limit` mails to be read at /mail, and sends none. For one process. */
export const createOutbox = (texts: MailTexts, clock: Clock, limit: number): Outbox => {
  let mails: readonly OutboxMail[] = []
  return {
    send: async (mail) => {
      const made = composed(texts, clock, mail)
      mails = [made, ...mails].slice(0, limit)
    },
    list: () => mails,
    close: async () => undefined,
  }
}
