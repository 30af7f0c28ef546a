import { invalid, Refusal } from '../../kernel/index.ts'
import { type FilePurpose, filePurpose } from './contract.ts'

/** What files of a purpose may be: size in bytes, and media types. */
export interface PurposeRule {
  maxBytes: number
  types: readonly string[]
}

export type PurposeRules = Readonly<Record<FilePurpose, PurposeRule>>

/** File-name endings of the types that we know; the first one is given to a name that has none of them. */
const endings: Record<string, readonly string[]> = {
  'application/pdf': ['.pdf'],
  'image/png': ['.png'],
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/webp': ['.webp'],
  'text/csv': ['.csv'],
  'text/plain': ['.txt', '.csv', '.log'],
}

/** Types that have no signature: they are believed where the content is text and nothing else. */
const plainTexts = ['text/csv', 'text/plain']

export const purposeOf = (text: string | undefined): FilePurpose => {
  const found = filePurpose.codes.find((code) => code === text)
  if (!found) throw invalid('purpose')
  return found
}

/** What markup looks like to a browser that guesses: it looks at no more than the first 1,445 bytes. */
const markup = /<(!doctype|html|head|body|script|iframe|svg|style|img|a |\?xml)/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no text holds
const binary = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/

const isText = (head: Uint8Array, isWhole: boolean): boolean => {
  try {
    // `stream`: the head may end within a character, where the file does not end with it.
    return !binary.test(new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: !isWhole }))
  } catch {
    return false
  }
}

/**
 * The type of a file by its first bytes: `sniffed` by signature, or a plain text that was declared as one. What was
 * declared has to agree, and nothing that a browser could take for a page is let in under any type.
 */
export const judgeType = (
  { head, isWhole }: { head: Uint8Array; isWhole: boolean },
  declared: string,
  sniffed: string | undefined,
): string => {
  if (head.length === 0) throw invalid('file', 'empty')
  if (markup.test(Buffer.from(head).toString('latin1'))) throw invalid('file', 'markup inside')
  const type = sniffed ?? plainTexts.find((plain) => plain === declared)
  if (type === undefined || (sniffed === undefined && !isText(head, isWhole))) throw invalid('file', 'no known type')
  if (declared !== type && declared !== 'application/octet-stream') throw invalid('file', 'declared as another type')
  return type
}

/** Whether a file of this size and type may serve the purpose. */
export const judgePurpose = ({ maxBytes, types }: PurposeRule, file: { size: number; type: string }): void => {
  if (!types.includes(file.type)) throw invalid('file', 'a type that the purpose does not take')
  if (file.size > maxBytes) throw tooLarge()
}

/** The same of a file that lies there already, for whatever it was uploaded. */
export const serves = ({ maxBytes, types }: PurposeRule, file: { contentType: string; sizeBytes: number }): boolean =>
  types.includes(file.contentType) && file.sizeBytes <= maxBytes

export const tooLarge = (): Refusal => new Refusal('REQUEST.TOO_LARGE', { field: 'file', internal: 'file' })

/** The most that any purpose takes: the bound while the purpose is not known yet. */
export const greatest = (rules: PurposeRules): number => Math.max(...Object.values(rules).map((rule) => rule.maxBytes))

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const reserved = /[<>:"|?*]/g
const nameLength = 120

/**
 * A name to keep and to offer at downloads: the last part of whatever path came, without characters that steer
 * terminals, displays or file systems, and with an ending that fits the type. What holds NUL, or was not UTF-8 (of which
 * the form's reader makes U+FFFD), is no name at all.
 */
export const safeName = (given: string, type: string): string => {
  if (/[\0\ufffd]/.test(given) || !given.isWellFormed()) throw invalid('file', 'file name')
  const last = given.normalize('NFC').split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(unprintable, '').replace(reserved, '_').trimEnd()
  const fitting = endings[type] ?? []
  const ending = fitting.find((each) => plain.toLowerCase().endsWith(each))
  const bare = (ending ? plain.slice(0, -ending.length) : plain).replace(/^[. ]+|[. ]+$/g, '')
  const stem = [...bare].slice(0, nameLength).join('')
  return (stem || 'file') + (ending ?? fitting[0] ?? '')
}
