import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { z } from 'zod'
import { DeclarationErrors, fallbackLocale, type Locale, locales } from '../../kernel/index.ts'
import { mailTemplateNames, mailTemplates } from './mailer.ts'

const parts = ['subject', 'text', 'html'] as const
const MailText = z.strictObject({ subject: z.string().trim().min(1).regex(/^.+$/), text: z.string(), html: z.string() })
export type MailText = z.infer<typeof MailText>
export type MailTexts = (template: string, locale: Locale) => MailText

export interface MailDirectory {
  /** Also the prefix of its mails' names. */
  domain: string
  /** Contains `<name>/<locale>.yaml`. Only `en.yaml` is required; other languages fall back to English. */
  directory: string
  templates: Readonly<Record<string, readonly string[]>>
}

export const placeholder = /\{\{(\w+)\}\}/g

/** Reads all templates and languages, so that no mail fails when it is sent. Rejects with DeclarationErrors. */
export async function readMailTexts(directory: string, added: readonly MailDirectory[] = []): Promise<MailTexts> {
  const known = new Map<string, MailText>()
  const keyOf = (template: string, locale: Locale): string => `${template} ${locale}`
  const readOne = async (owner: string, path: string, key: string, names: readonly string[]) => {
    const { mail, errors: found } = await read(path, names)
    if (mail) known.set(key, mail)
    return found.map((error) => ({ owner, message: `invalid mail texts: ${path}: ${error}` }))
  }
  const own = mailTemplateNames.flatMap((template) =>
    locales.map((locale) =>
      readOne('mail', join(directory, template, `${locale}.yaml`), keyOf(template, locale), mailTemplates[template]),
    ),
  )
  const ofDomains = added.flatMap(({ domain, directory: folder, templates }) =>
    Object.entries(templates).flatMap(([name, values]) =>
      locales
        .map((locale) => ({ locale, path: join(folder, name, `${locale}.yaml`) }))
        .filter(({ locale, path }) => locale === fallbackLocale || existsSync(path))
        .map(({ locale, path }) => readOne(domain, path, keyOf(`${domain}.${name}`, locale), values)),
    ),
  )
  const errors = (await Promise.all([...own, ...ofDomains])).flat()
  if (errors.length > 0) throw new DeclarationErrors(errors)
  return (template, locale) => {
    const mail = known.get(keyOf(template, locale)) ?? known.get(keyOf(template, fallbackLocale))
    if (!mail) throw new TypeError(`no mail text ${template} in ${locale}`)
    return mail
  }
}

async function read(path: string, names: readonly string[]): Promise<{ mail?: MailText; errors: string[] }> {
  try {
    const parsed = MailText.safeParse(load(await readFile(path, 'utf8')))
    const errors = parsed.success
      ? findErrors(parsed.data, names)
      : parsed.error.issues.map((issue) => [...issue.path, issue.message].join(': '))
    return parsed.success && errors.length === 0 ? { mail: parsed.data, errors } : { errors }
  } catch (error) {
    // Keep only the first line, because the message of a YAML error goes on to quote the file.
    return { errors: [String(error).split('\n', 1).join()] }
  }
}

function findErrors(mail: MailText, names: readonly string[]): string[] {
  return parts.flatMap((part) => {
    const used = placeholders(mail[part])
    const missing = part === 'subject' ? [] : names.filter((name) => !used.includes(name))
    const unknown = used.filter((name) => !names.includes(name))
    return [
      ...unknown.map((name) => `${part}: the mail has no value ${name}; remove it or add it to \`templates\``),
      ...missing.map((name) => `${part}: {{${name}}} is missing; add it`),
    ]
  })
}

function placeholders(text: string): string[] {
  return [...text.matchAll(placeholder)].map((match) => match[1] ?? '')
}
