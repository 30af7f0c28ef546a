import type { Clock, Instant, Locale } from '../../kernel/index.ts'
import { oneMailbox } from './address.ts'
import type { Mailer, MailTemplate } from './mailer.ts'
import { renderMail } from './render.ts'
import type { MailText, MailTexts } from './templates.ts'

export interface OutboxMail extends MailText {
  to: string
  template: MailTemplate
  locale: Locale
  at: Instant
}

export interface Outbox extends Mailer {
  /** Newest first. */
  list(): readonly OutboxMail[]
}

/** The development mailer: keeps the last `limit` mails to be read at /mail, and sends none. */
export const createOutbox = (texts: MailTexts, clock: Clock, limit: number): Outbox => {
  let mails: readonly OutboxMail[] = []
  return {
    send: async (mail) => {
      const sent = { ...renderMail(texts, mail), to: oneMailbox(mail.to), template: mail.template, locale: mail.locale }
      mails = [{ ...sent, at: clock.now() }, ...mails].slice(0, limit)
    },
    list: () => mails,
    close: async () => undefined,
  }
}
