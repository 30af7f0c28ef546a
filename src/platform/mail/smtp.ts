import { connect, type Socket } from 'node:net'
import type { SendMailOptions } from 'nodemailer'
import type { Options as PoolOptions } from 'nodemailer/lib/smtp-pool/index.js'
import { createConcurrencyLimiter, parseMailbox, parseSender, Refusal } from '../../kernel/index.ts'
import { lookup } from '../runtime/index.ts'
import type { Mailer, MailTemplate } from './mailer.ts'
import { renderMail } from './render.ts'
import type { MailTexts } from './templates.ts'

export interface SmtpSettings {
  /** smtp:// or smtps://, with credentials. */
  url: string
  /** `name <address>`, or an address alone. */
  from: string
  /** Until the server accepts a mail, including the wait in our queue. Also for each response of the server. */
  timeoutMs: number
}

/** Suppresses automatic replies (RFC 3834, section 5). */
const headers = { 'Auto-Submitted': 'auto-generated' }

/** Per lane. */
const maxConnections = 5

/** A person waits for these emails. A flood of other emails must not delay them. */
const signInCodes: ReadonlySet<string> = new Set<MailTemplate>(['login-code', 'step-up-code'])

export async function openSmtpMailer(settings: SmtpSettings, texts: MailTexts): Promise<Mailer> {
  const from = parseSender(settings.from)
  const [codes, others] = [await openLane(settings), await openLane(settings)]
  return {
    send: async (mail) => {
      const to = { name: '', address: parseMailbox(mail.to) }
      const content = renderMail(texts, mail)
      const lane = signInCodes.has(mail.template) ? codes : others
      try {
        await lane.send({ from, to, headers, ...content }, AbortSignal.timeout(settings.timeoutMs))
      } catch (error) {
        throw new Refusal('SYSTEM.UNAVAILABLE', { ...failureOf(error), retryAfter: 30 })
      }
    },
    close: async () => {
      codes.close()
      others.close()
    },
  }
}

interface Lane {
  send(mail: SendMailOptions, deadline: AbortSignal): Promise<void>
  close(): void
}

async function openLane({ url, timeoutMs }: SmtpSettings): Promise<Lane> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url,
    pool: true,
    maxConnections,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    getSocket: openSocket,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // After the deadline, a waiting mail is not sent, and the connection of a mail that is being sent is closed.
  const { runLimited } = createConcurrencyLimiter({
    concurrency: maxConnections,
    waiting: Number.POSITIVE_INFINITY,
  })
  return {
    send: async (mail, deadline) => {
      const delivery = runLimited(async () => {
        deadline.throwIfAborted()
        await transport.sendMail({ ...mail, signal: deadline })
      })
      await Promise.race([delivery, rejectAt(deadline)])
    },
    close: () => transport.close(),
  }
}

/** nodemailer has its own resolver, which caches addresses for five minutes. Uses its default ports. */
function openSocket(
  { host = 'localhost', port, secure = false, connectionTimeout }: PoolOptions,
  done: (error: Error | null, options: { connection: Socket }) => void,
): void {
  const connection = connect({ host, port: Number(port ?? (secure ? 465 : 587)), lookup })
  const settle = (error: Error | null): void => {
    clearTimeout(timer)
    connection.removeListener('error', settle).removeListener('connect', onConnect)
    done(error, { connection })
  }
  const onConnect = (): void => settle(null)
  const timer = setTimeout(() => connection.destroy(new Error('connection timeout')), connectionTimeout)
  connection.once('connect', onConnect).once('error', settle)
}

function rejectAt(deadline: AbortSignal): Promise<never> {
  return new Promise((_, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }))
}

/** Omits the server's message, which can quote the recipient, or a code or a link in the mail. */
function failureOf(error: unknown): { internal: string; cause?: unknown } {
  const internal = 'the mail server did not accept the mail'
  if (!(error instanceof Error && 'response' in error)) return { internal, cause: error }
  const { code, responseCode, command }: Record<string, unknown> = { ...error }
  return { internal: `${internal}: ${code} ${responseCode} to ${command}` }
}
