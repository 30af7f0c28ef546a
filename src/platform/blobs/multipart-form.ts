import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { invalid, Refusal, type Upload } from '../../kernel/index.ts'

/** The `file` part of a form. */
export interface FilePart {
  fileName: string
  /** Content-Type in lower case. */
  declaredType: string
  bytes: Readable
}

/** Maximum size of everything except the file. */
const surroundingBytes = 64 * 1024

/** Limits on reading the rest of a rejected body. A client that is still sending would not read the response. */
const drainLimits = { milliseconds: 2_000, bytes: 8 * 1024 * 1024 }

export function tooLarge(): Refusal {
  return new Refusal('REQUEST.TOO_LARGE', { field: 'file', internal: 'file' })
}

/**
 * Parses a form with exactly one `file` and each of `fields` once, in any order. The stream fails if the rest of the form
 * is invalid. Throws REQUEST.TOO_LARGE above `maxBytes`.
 */
export async function readForm<T, Field extends string>(
  upload: Upload,
  { maxBytes, fields }: { maxBytes: number; fields: readonly Field[] },
  receive: (part: FilePart) => Promise<T>,
): Promise<{ fields: Record<Field, string>; received: T }> {
  const parser = open(upload, fields.length)
  const source = upload.bytes
  const texts = new Map<string, string>()
  let receiving: Promise<T> | undefined
  let file: Readable | undefined
  let left = maxBytes + surroundingBytes
  const parsed = Promise.withResolvers<void>()

  const fail = (error: Error): void => {
    source.unpipe(parser)
    parsed.reject(error)
    file?.destroy(error)
  }

  parser.on('file', (name, bytes, fileName, _encoding, declaredType) => {
    // The parser or `receive` reports the error.
    bytes.on('error', () => undefined)
    if (name !== 'file' || file) {
      bytes.resume()
      return fail(invalid('file', 'unexpected file'))
    }
    file = bytes
    receiving = receive({ fileName: fileName ?? '', declaredType, bytes })
    receiving.catch(fail)
  })
  parser.on('field', (name, value, _nameTruncated, truncated) => {
    if (!fields.some((each) => each === name) || texts.has(name) || truncated)
      return fail(invalid('body', 'unexpected field'))
    texts.set(name, value)
  })
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
    parser.on(event, () => fail(invalid('body', event)))
  parser.on('error', (error) => fail(asRefusal(error)))
  parser.on('finish', () => parsed.resolve())
  const broken = (cause?: unknown) =>
    fail(
      cause instanceof Refusal
        ? cause
        : new Refusal('REQUEST.MALFORMED', { internal: 'the upload was interrupted', cause }),
    )
  source.on('error', broken)
  source.on('close', () => {
    if (!source.readableEnded) broken()
  })
  source.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) fail(tooLarge())
  })
  // A destroyed source emits no further events, so handle it here.
  if (source.destroyed) broken(source.errored ?? undefined)
  source.pipe(parser)

  try {
    await parsed.promise
    if (!receiving) throw invalid('file', 'missing')
    const missing = fields.find((name) => !texts.has(name))
    if (missing !== undefined) throw invalid(missing)
    // Each field is present.
    return { fields: Object.fromEntries(texts) as Record<Field, string>, received: await receiving }
  } catch (error) {
    // `receive` must clean up before the response is sent.
    await receiving?.catch(() => undefined)
    source.unpipe(parser)
    await drain(source)
    throw error
  }
}

function open({ contentType }: Upload, fields: number) {
  const limits = limitsOf(fields)
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits, preservePath: true })
  } catch (error) {
    throw asRefusal(error)
  }
}

/** One part more than the form may have, so that it is noticed. */
function limitsOf(fields: number) {
  return {
    ...{ files: 2, fields: fields + 1, parts: fields + 2 },
    ...{ fieldSize: 64, headerPairs: 16, headerSize: 4_096 },
  }
}

function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : invalid('body', error instanceof Error ? error.message : 'multipart')
}

async function drain(source: Readable): Promise<void> {
  if (source.destroyed || source.readableEnded) return
  let left = drainLimits.bytes
  const enough = new AbortController()
  const timer = setTimeout(() => enough.abort(), drainLimits.milliseconds)
  source.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) enough.abort()
  })
  source.resume()
  await finished(source, { writable: false, signal: enough.signal }).catch(() => undefined)
  clearTimeout(timer)
}
