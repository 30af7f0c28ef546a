import { hash } from 'node:crypto'
import { toIso } from '../../kernel/index.ts'
import type { OutboxMail, ReadableOutbox } from './outbox.ts'
import { escapeHtml } from './render.ts'

/** A link or a name without a break anywhere is broken where the screen ends. */
const style = 'body{overflow-wrap:anywhere}pre{white-space:pre-wrap}'

const head = [
  '<meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  '<meta name="color-scheme" content="light dark">',
  '<title>Outbox</title>',
  `<style>${style}</style>`,
].join('')

/** Nothing of a mail is run or loaded; this page's own style alone applies. */
const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-ancestors 'none'`

const article = ({ at, to, locale, subject, text }: OutboxMail): string => {
  const mail = `<h2 lang="${locale}">${escapeHtml(subject)}</h2><p>${toIso(at)} · to ${escapeHtml(to)}</p>`
  return `<article>${mail}<pre lang="${locale}">${escapeHtml(text)}</pre></article>`
}

/** The development outbox for people (/mail) and for programs (/mail.json: an array, newest first). */
export const outboxPage = (outbox: ReadableOutbox) => ({
  policy,
  json: async () => (await outbox.list()).map((mail) => ({ ...mail, at: toIso(mail.at) })),
  html: async () =>
    `<!doctype html><html lang="en">${head}<main><h1>Outbox</h1>${
      (await outbox.list()).map(article).join('') || '<p>No mail yet.</p>'
    }</main></html>`,
})
