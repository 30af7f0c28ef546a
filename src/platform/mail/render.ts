import type { Locale } from '../../kernel/index.ts'
import type { AnyTemplate, Mail } from './mailer.ts'
import { type MailText, type MailTexts, placeholder } from './templates.ts'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes a text for HTML content and attribute values. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? '')

/** Removes line breaks and bidirectional controls, with which a value could change the text around it. */
const oneLine = (value: string): string =>
  value.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').replace(/[\u202a-\u202e\u2066-\u2069]/g, '')

const fill = (text: string, values: ReadonlyMap<string, string>, format: (value: string) => string): string =>
  text.replace(placeholder, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new TypeError(`the mail has no value ${name}`)
    return format(value)
  })

/**
 * Wraps a template's content in an HTML page with its language, support for dark mode, and line breaks in long links.
 * Language and line breaks are repeated on the content, because webmail drops the surrounding page.
 */
const page = (locale: Locale, content: string): string =>
  [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"></head>',
    `<body><div lang="${locale}" style="overflow-wrap:anywhere">\n${content}</div></body></html>\n`,
  ].join('')

/** Renders subject, text and HTML of a mail in its language. Values become one line each, and are escaped in HTML. */
export const renderMail = <T extends AnyTemplate>(texts: MailTexts, mail: Mail<T>): MailText => {
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
