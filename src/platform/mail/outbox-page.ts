import { toIso } from '../../kernel/index.ts'
import { escapeHtml } from './escape-html.ts'
import type { OutboxMail, ReadableOutbox } from './outbox.ts'

const article = ({ at, to, subject, text }: OutboxMail): string =>
  `<article><h2>${escapeHtml(subject)}</h2><p>${toIso(at)} · to ${escapeHtml(to)}</p><pre>${escapeHtml(text)}</pre></article>`

/** The development outbox for people (/mail) and for programs (/mail.json: an array, newest first). */
export const outboxPage = (outbox: ReadableOutbox) => ({
  json: async () => (await outbox.list()).map((mail) => ({ ...mail, at: toIso(mail.at) })),
  html: async () =>
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Outbox</title><h1>Outbox</h1>${
      (await outbox.list()).map(article).join('') || '<p>No mail yet.</p>'
    }</html>`,
})
