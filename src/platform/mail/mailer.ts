import type { Locale } from '../../kernel/index.ts'
import type { MailMetrics } from '../telemetry/index.ts'

/** The gateway's mails, with the names of the values in their texts. */
export const mailTemplates = {
  'login-code': ['code', 'minutes'],
  'step-up-code': ['code', 'minutes', 'purpose'],
  'registration-code': ['code', 'minutes'],
  'account-exists': ['url'],
  'password-reset': ['url', 'minutes'],
  'new-device': ['time', 'address', 'device', 'url'],
  'security-change': ['change', 'time', 'address', 'url'],
  'factor-added': ['change', 'time', 'address', 'url', 'until'],
  'confirmation-failed': ['time', 'address', 'url'],
  'account-decision': ['decision', 'reason', 'url'],
} as const satisfies Record<string, readonly string[]>

export type MailTemplate = keyof typeof mailTemplates
export const mailTemplateNames = Object.keys(mailTemplates) as MailTemplate[]

/** The name of a domain's mail: `<domain>.<name>`. */
export type DomainMail = `${string}.${string}`

/** The name of any mail. */
export type AnyTemplate = MailTemplate | DomainMail
export type MailValues<T extends string> = T extends MailTemplate
  ? Record<(typeof mailTemplates)[T][number], string>
  : Readonly<Record<string, string>>

/** One mail to one recipient. */
export interface Mail<T extends AnyTemplate> {
  to: string
  template: T
  locale: Locale
  values: MailValues<T>
}

/** Throws SYSTEM.UNAVAILABLE if the mail server does not accept a mail. */
export interface Mailer {
  send<T extends AnyTemplate>(mail: Mail<T>): Promise<void>
  close(): Promise<void>
}

/** Counts each attempt to hand a mail over. */
export function withMailMetrics(mailer: Mailer, count: MailMetrics): Mailer {
  return {
    ...mailer,
    send: async (mail) => {
      try {
        await mailer.send(mail)
      } catch (error) {
        count('failed')
        throw error
      }
      count('sent')
    },
  }
}
