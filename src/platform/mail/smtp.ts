import { createConcurrencyLimiter, parseMailbox, parseSender, Refusal } from '../../kernel/index.ts'
import type { Mailer } from './mailer.ts'
import { renderMail } from './render.ts'
import type { MailTexts } from './templates.ts'

export interface SmtpSettings {
  /** smtp:// or smtps://, with its credentials. */
  url: string
  /** `name <address>`, or an address alone. */
  from: string
  /** For the server to take a mail, its turn and all; and for any silence of its own. Milliseconds. */
  timeoutMs: number
}

/** Nobody answers such a mail by a machine: no note of an absence comes back for each code (RFC 3834, 5). */
const headers = { 'Auto-Submitted': 'auto-generated' }

/** Mails on their way to the server at once. */
const maxConnections = 5

const passed = (deadline: AbortSignal): Promise<never> =>
  new Promise((_, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }))

/**
 * Why no mail was taken, for the log. A server's own words stay out of it: they may quote whom the mail was for, or the
 * code or the link in it that a filter finds fault with.
 */
const failureOf = (error: unknown): { internal: string; cause?: unknown } => {
  const internal = 'the mail server took no mail'
  if (!(error instanceof Error && 'response' in error)) return { internal, cause: error }
  const { code, responseCode, command }: Record<string, unknown> = { ...error }
  return { internal: `${internal}: ${code} ${responseCode} to ${command}` }
}

/** Sends through an SMTP server. Attachments by path or URL are switched off: no mail has any. */
export const openSmtpMailer = async (settings: SmtpSettings, texts: MailTexts): Promise<Mailer> => {
  const { createTransport } = await import('nodemailer')
  const from = parseSender(settings.from)
  const transport = createTransport({
    url: settings.url,
    pool: true,
    maxConnections,
    connectionTimeout: settings.timeoutMs,
    greetingTimeout: settings.timeoutMs,
    socketTimeout: settings.timeoutMs,
    dnsTimeout: settings.timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // Whoever waits in vain is told so; what nobody waits for any more is not begun, and a dialogue ends with its connection.
  const { runLimited: inTurn } = createConcurrencyLimiter({
    concurrency: maxConnections,
    waiting: Number.POSITIVE_INFINITY,
  })
  return {
    send: async (mail) => {
      const to = { name: '', address: parseMailbox(mail.to) }
      const content = renderMail(texts, mail)
      const deadline = AbortSignal.timeout(settings.timeoutMs)
      const dialogue = inTurn(async () => {
        deadline.throwIfAborted()
        await transport.sendMail({ from, to, headers, ...content, signal: deadline })
      })
      try {
        await Promise.race([dialogue, passed(deadline)])
      } catch (error) {
        throw new Refusal('SYSTEM.UNAVAILABLE', { ...failureOf(error), retryAfter: 30 })
      }
    },
    close: async () => transport.close(),
  }
}
