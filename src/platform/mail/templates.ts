import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { z } from 'zod'
import type { Locale } from '../../kernel/index.ts'
import { type MailTemplate, mailTemplates } from './mailer.ts'
import { placeholders } from './render.ts'

const MailText = z.strictObject({ subject: z.string().trim().min(1).regex(/^.+$/), text: z.string(), html: z.string() })
export type MailText = z.infer<typeof MailText>
export type MailTexts = (template: MailTemplate, locale: Locale) => Promise<MailText>

/** What is wrong with a text: a value that it does not know, or one that it leaves out. */
const faultsOf = (mail: MailText, names: readonly string[]): string[] => [
  ...placeholders(`${mail.subject}${mail.text}${mail.html}`).filter((name) => !names.includes(name)),
  ...names.filter((name) => !placeholders(mail.text).includes(name) || !placeholders(mail.html).includes(name)),
]

const readText = async (directory: string, template: MailTemplate, locale: Locale): Promise<MailText> => {
  const path = join(directory, template, `${locale}.yaml`)
  const mail = MailText.parse(load(await readFile(path, 'utf8')))
  const faults = faultsOf(mail, mailTemplates[template])
  if (faults.length > 0) throw new Error(`${path}: placeholders unknown or missing: ${faults.join(', ')}`)
  return mail
}

/**
 * `<template>/<locale>.yaml`, each read when it is first sent: all of them together would hold up every start. A file
 * that is missing or wrong rejects, and is looked at again the next time.
 */
export const mailTexts = (directory: string): MailTexts => {
  const known = new Map<string, MailText>()
  return async (template, locale) => {
    const name = join(template, locale)
    const text = known.get(name) ?? (await readText(directory, template, locale))
    known.set(name, text)
    return text
  }
}
