import type { Locale } from '../../kernel/index.ts'
import type { AnyTemplate, Mail } from './mailer.ts'
import { isLink, linkValue, plainValue } from './plain-values.ts'
import { type MailText, type MailTexts, placeholder } from './templates.ts'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? '')
}

/** A line or paragraph of the template that consists of one placeholder. */
const lonePlaceholder = /^\s*(?:<p>)?\{\{(\w+)\}\}(?:<\/p>)?\s*$/

/** Each value becomes one line, escaped in HTML. Only values named `url` or `…Url` can be links. */
export function renderMail<T extends AnyTemplate>(texts: MailTexts, mail: Mail<T>): MailText {
  const text = texts(mail.template, mail.locale)
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries<string>(mail.values))
    values.set(name, isLink(name) ? linkValue(value) : plainValue(value))
  return {
    subject: fill(text.subject, values),
    text: fill(withoutEmptyLines(text.text, values), values),
    html: page(mail.locale, fill(withoutEmptyLines(text.html, values), values, escapeHtml)),
  }
}

function fill(text: string, values: ReadonlyMap<string, string>, format?: (value: string) => string): string {
  return text.replace(placeholder, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new TypeError(`the mail has no value ${name}`)
    return format ? format(value) : value
  })
}

function withoutEmptyLines(text: string, values: ReadonlyMap<string, string>): string {
  return text
    .split('\n')
    .filter((line) => values.get(lonePlaceholder.exec(line)?.[1] ?? '') !== '')
    .join('\n')
}

/** Language and line breaks are repeated on the content, because webmail drops the surrounding page. */
function page(locale: Locale, content: string): string {
  return [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"></head>',
    `<body><div lang="${locale}" style="overflow-wrap:anywhere">\n${content}</div></body></html>\n`,
  ].join('')
}
