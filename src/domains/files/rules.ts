import { invalid, Refusal } from '../../kernel/index.ts'
import { type FilePurpose, filePurpose } from './contract.ts'

/** The allowed size and media types of files for a purpose. */
export interface PurposeRule {
  maxBytes: number
  types: readonly string[]
}

export type PurposeRules = Readonly<Record<FilePurpose, PurposeRule>>

/** File name endings of the known types. A name without one of them gets the first. */
const endings: Record<string, readonly string[]> = {
  'application/pdf': ['.pdf'],
  'image/png': ['.png'],
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/webp': ['.webp'],
  'text/csv': ['.csv'],
  'text/plain': ['.txt', '.csv', '.log'],
}

/** Types without a signature. The declared type counts if the content is plain text. */
const plainTexts = ['text/csv', 'text/plain']

/** Refuses a text that is not a purpose. */
export const parsePurpose = (text: string | undefined): FilePurpose => {
  const found = filePurpose.codes.find((code) => code === text)
  if (!found) throw invalid('purpose')
  return found
}

/** Markup that a browser would recognize when it guesses a type. It looks at the first 1,445 bytes only. */
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
 * The type of a file by its first bytes: `sniffed` by signature, or a declared plain text. Refuses a file whose declared
 * type differs, and any file that a browser could take for a page.
 */
export const detectType = (
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

/** Refuses a file whose type or size the purpose does not allow. */
export const assertPurpose = ({ maxBytes, types }: PurposeRule, file: { size: number; type: string }): void => {
  if (!types.includes(file.type)) throw invalid('file', 'a type that the purpose does not take')
  if (file.size > maxBytes) throw tooLarge()
}

/** Whether a stored file could also serve this purpose. */
export const servesPurpose = (
  { maxBytes, types }: PurposeRule,
  file: { contentType: string; sizeBytes: number },
): boolean => types.includes(file.contentType) && file.sizeBytes <= maxBytes

export const tooLarge = (): Refusal => new Refusal('REQUEST.TOO_LARGE', { field: 'file', internal: 'file' })

/** The maximum size over all purposes, for uploads whose purpose is not known yet. */
export const maxBytesOf = (rules: PurposeRules): number =>
  Math.max(...Object.values(rules).map((rule) => rule.maxBytes))

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const reserved = /[<>:"|?*]/g
const nameLength = 120

/**
 * A file name for storage and downloads: the last part of a path, without characters that control terminals, displays or
 * file systems, and with an ending that fits the type. Refuses NUL and invalid UTF-8, which the form parser turns into
 * U+FFFD.
 */
export const sanitizeName = (given: string, type: string): string => {
  if (/[\0\ufffd]/.test(given) || !given.isWellFormed()) throw invalid('file', 'file name')
  const last = given.normalize('NFC').split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(unprintable, '').replace(reserved, '_').trimEnd()
  const fitting = endings[type] ?? []
  const ending = fitting.find((each) => plain.toLowerCase().endsWith(each))
  const bare = (ending ? plain.slice(0, -ending.length) : plain).replace(/^[. ]+|[. ]+$/g, '')
  const stem = [...bare].slice(0, nameLength).join('')
  return (stem || 'file') + (ending ?? fitting[0] ?? '')
}
