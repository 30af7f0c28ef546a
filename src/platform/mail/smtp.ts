import { createConcurrencyLimiter, parseMailbox, parseSender, Refusal } from '../../kernel/index.ts'
import type { Mailer } from './mailer.ts'
import { renderMail } from './render.ts'
import type { MailTexts } from './templates.ts'

/** The mail server and the sender. */
export interface SmtpSettings {
  /** smtp:// or smtps://, with credentials. */
  url: string
  /** `name <address>`, or an address alone. */
  from: string
  /**
   * Maximum time until the server accepts a mail, including the wait in our queue. It also limits each response of the
   * server.
   */
  timeoutMs: number
}

/** Suppresses automatic replies such as out-of-office notes (RFC 3834, section 5). */
const headers = { 'Auto-Submitted': 'auto-generated' }

/** Maximum number of concurrent connections to the server. */
const maxConnections = 5

const rejectAt = (deadline: AbortSignal): Promise<never> =>
  new Promise((_, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }))

/**
 * Returns the reason of a failure for the log. The server's message is left out, because it can quote the recipient, or
 * a code or a link in the mail.
 */
const failureOf = (error: unknown): { internal: string; cause?: unknown } => {
  const internal = 'the mail server did not accept the mail'
  if (!(error instanceof Error && 'response' in error)) return { internal, cause: error }
  const { code, responseCode, command }: Record<string, unknown> = { ...error }
  return { internal: `${internal}: ${code} ${responseCode} to ${command}` }
}

/** Opens a pool of connections to an SMTP server. Mails cannot attach files or URLs. */
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
  // If the deadline passes while a mail is in the queue, the mail is not sent. If it passes during the sending, the
  // connection is closed.
  const { runLimited } = createConcurrencyLimiter({
    concurrency: maxConnections,
    waiting: Number.POSITIVE_INFINITY,
  })
  return {
    send: async (mail) => {
      const to = { name: '', address: parseMailbox(mail.to) }
      const content = renderMail(texts, mail)
      const deadline = AbortSignal.timeout(settings.timeoutMs)
      const delivery = runLimited(async () => {
        deadline.throwIfAborted()
        await transport.sendMail({ from, to, headers, ...content, signal: deadline })
      })
      try {
        await Promise.race([delivery, rejectAt(deadline)])
      } catch (error) {
        throw new Refusal('SYSTEM.UNAVAILABLE', { ...failureOf(error), retryAfter: 30 })
      }
    },
    close: async () => transport.close(),
  }
}
