import { pipeline } from 'node:stream/promises'
import { invalid } from '../../kernel/index.ts'
import { type Blobs, createByteMeter } from './blobs.ts'
import { type FilePart, tooLarge } from './multipart-form.ts'

/** A name without one of these extensions gets the first one. */
const extensions: Record<string, readonly string[]> = {
  'application/pdf': ['.pdf'],
  'image/png': ['.png'],
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/webp': ['.webp'],
  'text/csv': ['.csv'],
  'text/plain': ['.txt', '.csv', '.log'],
}

/** Declared types of CSV. Browsers on Windows declare the program that opens it, or no type. */
const csvTypes = new Set([
  'text/csv',
  'application/csv',
  'application/vnd.ms-excel',
  'application/x-csv',
  'text/comma-separated-values',
  'text/x-comma-separated-values',
  'text/x-csv',
])
const anyType = 'application/octet-stream'

/** Markup that makes a browser treat content as a page. Browsers inspect up to 1,445 bytes. */
const markup = /<(!doctype|html|head|body|script|iframe|svg|style|img|a |\?xml)/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: plain text contains none of them
const binary = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const reserved = /[<>:"|?*]/g
const nameLength = 120

/**
 * Formats that can consist of text. The signature of any other one proves nothing without a control character: a table
 * can begin with `BM` or `MZ`.
 */
const textFormats = new Set(['application/pdf', 'application/rtf', 'application/postscript', 'application/eps'])

/** Content that is stored but that no row references yet. */
export interface StoredContent {
  blobKey: string
  fileName: string
  contentType: string
  sizeBytes: number
  sha256: string
}

const headBytes = 4_100

/**
 * Stores the `file` part of a form, with its type by content. Stores nothing if the part is rejected: too large, a markup or
 * an unknown type. Text can be in UTF-8, in UTF-16 with a byte-order mark, or in a code page such as Windows-1252.
 */
export async function storeContent(
  blobs: Blobs,
  blobKey: string,
  part: FilePart,
  maxBytes: number,
): Promise<StoredContent> {
  // Refuse an invalid name before storing anything.
  sanitizeName(part.fileName, '')
  const { through, size, sha256 } = createByteMeter((soFar) => {
    if (soFar > maxBytes) throw tooLarge()
  })
  let contentType = ''
  const onType = (type: string): void => {
    contentType = type
  }
  const feeding = pipeline(detectingType(part, onType), through)
  const storing = blobs.put(blobKey, through)
  // `put` also rejects with the cause if the upload fails.
  await Promise.allSettled([feeding, storing])
  await storing
  return {
    blobKey,
    fileName: sanitizeName(part.fileName, contentType),
    contentType,
    sizeBytes: size(),
    sha256: sha256(),
  }
}

/** Throws for NUL and for invalid UTF-8, which the form parser replaces with U+FFFD. */
function sanitizeName(name: string, type: string): string {
  if (/[\0\ufffd]/.test(name) || !name.isWellFormed()) throw invalid('file', 'file name')
  const last = name.normalize('NFC').split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(unprintable, '').replace(reserved, '_').trimEnd()
  const fitting = extensions[type] ?? []
  const ending = fitting.find((each) => plain.toLowerCase().endsWith(each))
  const bare = (ending ? plain.slice(0, -ending.length) : plain).replace(/^[. ]+|[. ]+$/g, '')
  const stem = [...bare].slice(0, nameLength).join('')
  return (stem || 'file') + (ending ?? fitting[0] ?? '')
}

/** Throws for a wrong type before the rest is stored. */
async function* detectingType(part: FilePart, onType: (type: string) => void): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0)
  let isDetected = false
  const detect = async (isWhole: boolean): Promise<void> => {
    isDetected = true
    const { fileTypeFromBuffer } = await import('file-type')
    const sniffed = await fileTypeFromBuffer(head)
    onType(detectType({ head, isWhole }, part, sniffed?.mime))
  }
  for await (const chunk of part.bytes) {
    if (!isDetected) {
      head = Buffer.concat([head, chunk]).subarray(0, headBytes)
      if (head.length >= headBytes) await detect(false)
    }
    yield chunk
  }
  if (!isDetected) await detect(true)
}

/** Throws if the declared type differs from the content, and for any file that a browser could show as a page. */
function detectType(
  { head, isWhole }: { head: Buffer; isWhole: boolean },
  { declaredType, fileName }: FilePart,
  sniffed: string | undefined,
): string {
  if (head.length === 0) throw invalid('file', 'empty')
  const wide = decodeUtf16(head, isWhole)
  const text = wide ?? decodeBytes(head, isWhole)
  if (markup.test(text) || markup.test(head.toString('latin1'))) throw invalid('file', 'contains markup')
  const type = binary.test(text) ? undefined : textTypeOf(declaredType, fileName)
  // The byte-order mark of UTF-16 resembles the signature of MPEG audio.
  if (type !== undefined && (wide !== undefined || !textFormats.has(sniffed ?? ''))) return type
  if (sniffed === undefined) throw invalid('file', 'unknown type')
  if (declaredType !== sniffed && declaredType !== anyType) throw invalid('file', 'declared as another type')
  return sniffed
}

function textTypeOf(declared: string, fileName: string): string | undefined {
  if (csvTypes.has(declared) || (declared === anyType && /\.csv$/i.test(fileName))) return 'text/csv'
  return declared === 'text/plain' || declared === anyType ? 'text/plain' : undefined
}

/** Undefined without a byte-order mark, or if it is not that of a text. */
function decodeUtf16(head: Buffer, isWhole: boolean): string | undefined {
  const mark = head.toString('latin1', 0, 2)
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : undefined
  return encoding && decode(encoding, head, isWhole)
}

/** The code pages of Windows differ above ASCII only, in bytes that this reads as letters. */
function decodeBytes(head: Buffer, isWhole: boolean): string {
  return decode('utf-8', head, isWhole) ?? head.toString('latin1')
}

/** More bytes can follow, so the last character can be incomplete. */
function decode(encoding: string, head: Buffer, isWhole: boolean): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(head, { stream: !isWhole })
  } catch {
    return undefined
  }
}
