import { hash } from 'node:crypto'
import { type Clock, type Instant, type Locale, parseMailbox, toIso } from '../../kernel/index.ts'
import type { AnyTemplate, Mail, Mailer } from './mailer.ts'
import { escapeHtml, renderMail } from './render.ts'
import type { MailText, MailTexts } from './templates.ts'

export interface OutboxMail extends MailText {
  to: string
  template: AnyTemplate
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

export function composeMail<T extends AnyTemplate>(texts: MailTexts, clock: Clock, mail: Mail<T>): OutboxMail {
  return {
    ...renderMail(texts, mail),
    to: parseMailbox(mail.to),
    template: mail.template,
    locale: mail.locale,
    at: clock.now(),
  }
}

/** More emails than a tour of the portal sends. */
export const outboxSize = 200

/** Stores the last `limit` mails in memory and sends none. */
export function createOutbox(texts: MailTexts, clock: Clock, limit = outboxSize): Outbox {
  let mails: readonly OutboxMail[] = []
  return {
    send: async (mail) => {
      mails = [composeMail(texts, clock, mail), ...mails].slice(0, limit)
    },
    list: () => mails,
    close: async () => undefined,
  }
}

export interface MailedCode {
  to: string
  code: string
  /** ISO 8601. */
  at: string
}

/** Returns the sign-in codes that were mailed to these addresses, newest first. */
export async function mailedSignInCodes(outbox: ReadableOutbox, addresses: readonly string[]): Promise<MailedCode[]> {
  const mails = await outbox.list()
  return mails.flatMap(({ to, template, text, at }) => {
    const code = /\b\d{6}\b/.exec(text)?.[0]
    const isMatch = template === 'login-code' && addresses.includes(to)
    return isMatch && code !== undefined ? [{ to, code, at: toIso(at) }] : []
  })
}

/** Breaks long links and names. */
const style = 'body{overflow-wrap:anywhere}pre{white-space:pre-wrap}'

const head = [
  '<meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  '<meta name="color-scheme" content="light dark">',
  '<title>Outbox</title>',
  `<style>${style}</style>`,
].join('')

/** Mails must not run scripts or load resources. */
const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-ancestors 'none'`

/** /mail, and /mail.json: an array, newest first. */
export function outboxPage(outbox: ReadableOutbox) {
  return {
    policy,
    json: async () => (await outbox.list()).map((mail) => ({ ...mail, at: toIso(mail.at) })),
    html: async () =>
      `<!doctype html><html lang="en">${head}<main><h1>Outbox</h1>${
        (await outbox.list()).map(article).join('') || '<p>No mail yet.</p>'
      }</main></html>`,
  }
}

function article({ at, to, locale, subject, text }: OutboxMail): string {
  const mail = `<h2 lang="${locale}">${escapeHtml(subject)}</h2><p>${toIso(at)} · to ${escapeHtml(to)}</p>`
  return `<article>${mail}<pre lang="${locale}">${escapeHtml(text)}</pre></article>`
}
