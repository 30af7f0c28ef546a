import type { Locale } from '../../kernel/index.ts'
import type { Mail, MailTemplate } from './mailer.ts'
import type { MailText, MailTexts } from './templates.ts'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A text as it stands in HTML, in an attribute's value too. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? '')

const placeholder = /\{\{(\w+)\}\}/g

export const placeholders = (text: string): string[] => [...text.matchAll(placeholder)].map((match) => match[1] ?? '')

/** A line break would begin another sentence; embeddings, overrides and isolates would turn the one around the value. */
const oneLine = (value: string): string =>
  value.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').replace(/[\u202a-\u202e\u2066-\u2069]/g, '')

const fill = (text: string, values: ReadonlyMap<string, string>, made: (value: string) => string): string =>
  text.replace(placeholder, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new TypeError(`the mail has no value ${name}`)
    return made(value)
  })

/**
 * A whole page of what a template holds, which says its language and leaves its colours to a dark screen. A link without a
 * break anywhere is broken where a narrow one ends. Both stand on the content as well: web mail keeps nothing around it.
 */
const page = (locale: Locale, content: string): string =>
  [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"></head>',
    `<body><div lang="${locale}" style="overflow-wrap:anywhere">\n${content}</div></body></html>\n`,
  ].join('')

/** Subject, text and HTML of a mail in its language: values are one line each, and escaped where HTML is. */
export const renderMail = <T extends MailTemplate>(texts: MailTexts, mail: Mail<T>): MailText => {
  const text = texts(mail.template, mail.locale)
  const values = new Map<string, string>(Object.entries(mail.values))
  return {
    subject: fill(text.subject, values, oneLine),
    text: fill(text.text, values, oneLine),
    html: page(
      mail.locale,
      fill(text.html, values, (value) => escapeHtml(oneLine(value))),
    ),
  }
}
