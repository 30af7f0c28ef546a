import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { Locale } from '../../kernel/index.ts'

/** The texts of one language by full key, such as `coded.roleType.OWNER.label`. */
export type Texts = Readonly<Record<string, string>>

const flatten = (node: unknown, key: string, into: Record<string, string>): void => {
  if (typeof node === 'string') {
    into[key] = node
    return
  }
  if (typeof node !== 'object' || node === null) throw new TypeError(`${key || 'the file'} holds no text`)
  for (const [name, child] of Object.entries(node)) flatten(child, key === '' ? name : `${key}.${name}`, into)
}

/** Reads `<directory>/<locale>.yaml`. Keys are flat, because codes contain dots and colons. */
export const readTexts = (directory: string, locale: Locale): Texts => {
  const file = join(directory, `${locale}.yaml`)
  const texts: Record<string, string> = {}
  try {
    flatten(load(readFileSync(file, 'utf8')), '', texts)
  } catch (cause) {
    throw new Error(`the texts of ${file} cannot be read`, { cause })
  }
  return texts
}
