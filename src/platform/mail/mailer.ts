import type { Locale } from '../../kernel/index.ts'

/** Every mail that Portico sends, with the values of its texts. */
export const mailTemplates = {
  'login-code': ['code', 'minutes'],
  'step-up-code': ['code', 'minutes'],
  'registration-code': ['code', 'minutes'],
  'account-exists': ['url'],
  'password-reset': ['url', 'minutes'],
  'new-device': ['time', 'address', 'device', 'url'],
  'security-change': ['change', 'time', 'address', 'url'],
  'account-decision': ['decision', 'reason', 'url'],
  'workspace-invitation': ['inviter', 'workspace', 'role', 'message', 'days', 'url'],
} as const satisfies Record<string, readonly string[]>

export type MailTemplate = keyof typeof mailTemplates
export const mailTemplateNames = Object.keys(mailTemplates) as MailTemplate[]

/** The name of a mail of an extension: `<domain>.<name>`. */
export type ExtensionMail = `${string}.${string}`

/** The name of any mail. */
export type AnyTemplate = MailTemplate | ExtensionMail
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

/** Hands a mail over for delivery. Throws SYSTEM.UNAVAILABLE if the mail server does not accept it. */
export interface Mailer {
  send<T extends AnyTemplate>(mail: Mail<T>): Promise<void>
  close(): Promise<void>
}
