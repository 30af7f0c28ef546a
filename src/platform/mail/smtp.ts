import { connect, type Socket } from 'node:net'
import type { SendMailOptions } from 'nodemailer'
import type { Options as PoolOptions } from 'nodemailer/lib/smtp-pool/index.js'
import { createConcurrencyLimiter, errorCode, parseMailbox, parseSender, Refusal } from '../../kernel/index.ts'
import type { DependencyLog } from '../dependency-log.ts'
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

export interface SmtpMailer extends Mailer {
  /** Signs in to the server, so that the log has the reason for a failure before a user waits for a mail. */
  verify(): Promise<void>
}

export async function openSmtpMailer(
  settings: SmtpSettings,
  texts: MailTexts,
  dependencies?: DependencyLog,
): Promise<SmtpMailer> {
  const from = parseSender(settings.from)
  const [codes, others] = [await openLane(settings), await openLane(settings)]
  let isClosed = false
  const refuse = (error: unknown): Refusal => {
    const refusal = new Refusal('SYSTEM.UNAVAILABLE', { ...failureOf(error), retryAfter: 30 })
    if (!isAboutMail(error) && !isClosed) dependencies?.failed('mail', new Error('SMTP_URL', { cause: refusal }))
    return refusal
  }
  return {
    verify: () => codes.verify().catch((error: unknown) => void refuse(error)),
    send: async (mail) => {
      const to = { name: '', address: parseMailbox(mail.to) }
      const content = renderMail(texts, mail)
      const lane = signInCodes.has(mail.template) ? codes : others
      try {
        await lane.send({ from, to, headers, ...content }, AbortSignal.timeout(settings.timeoutMs))
        dependencies?.works('mail')
      } catch (error) {
        throw refuse(error)
      }
    },
    close: async () => {
      isClosed = true
      codes.close()
      others.close()
    },
  }
}

interface Lane {
  send(mail: SendMailOptions, deadline: AbortSignal): Promise<void>
  verify(): Promise<void>
  close(): void
}

async function openLane({ url, timeoutMs }: SmtpSettings): Promise<Lane> {
  const { createTransport } = await import('nodemailer')
  const sockets = new Set<Socket>()
  const transport = createTransport({
    url,
    pool: true,
    maxConnections,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    getSocket: (options: PoolOptions, done: SocketCallback) => {
      const socket = openSocket(options, done)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    },
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
    verify: async () => void (await transport.verify()),
    close: () => {
      transport.close()
      // The pool does not know the connection of `verify`.
      for (const socket of sockets) socket.destroy()
    },
  }
}

type SocketCallback = (error: Error | null, options: { connection: Socket }) => void

/** nodemailer has its own resolver, which caches addresses for five minutes. Uses its default ports. */
function openSocket(
  { host = 'localhost', port, secure = false, connectionTimeout }: PoolOptions,
  done: SocketCallback,
): Socket {
  const connection = connect({ host, port: Number(port ?? (secure ? 465 : 587)), lookup })
  const settle = (error: Error | null): void => {
    clearTimeout(timer)
    connection.removeListener('error', settle).removeListener('connect', onConnect)
    done(error, { connection })
  }
  const onConnect = (): void => settle(null)
  const timer = setTimeout(() => connection.destroy(new Error('connection timeout')), connectionTimeout)
  return connection.once('connect', onConnect).once('error', settle)
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

/** The server refuses this mail or its recipient, and accepts others. */
function isAboutMail(error: unknown): boolean {
  return ['EENVELOPE', 'EMESSAGE'].includes(errorCode(error) ?? '')
}
