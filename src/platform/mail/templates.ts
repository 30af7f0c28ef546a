import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Locale, locales } from '../../kernel/index.ts'
import { type MailTemplate, mailTemplateNames, mailTemplates } from './mailer.ts'
import { placeholders } from './render.ts'

const MailText = z.strictObject({ subject: z.string().trim().min(1).regex(/^.+$/), text: z.string(), html: z.string() })
export type MailText = z.infer<typeof MailText>
export type MailTexts = ReadonlyMap<MailTemplate, ReadonlyMap<Locale, MailText>>

/** What is wrong with a text: a value that it does not know, or one that it leaves out. */
const faultsOf = (mail: MailText, names: readonly string[]): string[] => [
  ...placeholders(`${mail.subject}${mail.text}${mail.html}`).filter((name) => !names.includes(name)),
  ...names.filter((name) => !placeholders(mail.text).includes(name) || !placeholders(mail.html).includes(name)),
]

const readText = async (directory: string, template: MailTemplate, locale: Locale): Promise<MailText> => {
  const path = join(directory, template, `${locale}.yaml`)
  const mail = MailText.parse(parse(await readFile(path, 'utf8')))
  const faults = faultsOf(mail, mailTemplates[template])
  if (faults.length > 0) throw new Error(`${path}: placeholders unknown or missing: ${faults.join(', ')}`)
  return mail
}

/** Reads `<template>/<locale>.yaml` for every mail in every language; throws for the first that is missing or wrong. */
export const loadMailTexts = async (directory: string): Promise<MailTexts> => {
  const texts = new Map<MailTemplate, ReadonlyMap<Locale, MailText>>()
  for (const template of mailTemplateNames) {
    const inLocale = async (locale: Locale): Promise<[Locale, MailText]> => [
      locale,
      await readText(directory, template, locale),
    ]
    texts.set(template, new Map(await Promise.all(locales.map(inLocale))))
  }
  return texts
}
