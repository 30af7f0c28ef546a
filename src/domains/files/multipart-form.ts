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

const limits = { files: 2, fields: 2, parts: 3, fieldSize: 64, headerPairs: 16, headerSize: 4_096 }

/** Maximum size of everything except the file. */
const surroundingBytes = 64 * 1024

/** Limits on reading the rest of a rejected body. A client that is still sending would not read the response. */
const drainLimits = { milliseconds: 2_000, bytes: 8 * 1024 * 1024 }

const drain = async (source: Readable): Promise<void> => {
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

export const tooLarge = (): Refusal => new Refusal('REQUEST.TOO_LARGE', { field: 'file', internal: 'file' })

const asRefusal = (error: unknown): Refusal =>
  error instanceof Refusal ? error : invalid('body', error instanceof Error ? error.message : 'multipart')

const open = ({ contentType }: Upload) => {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits, preservePath: true })
  } catch (error) {
    throw asRefusal(error)
  }
}

/**
 * Parses a form with exactly one `file` and one `purpose`, in either order. The stream fails if the rest of the form is
 * invalid.
 */
export const readForm = async <T>(
  upload: Upload,
  maxBytes: number,
  receive: (part: FilePart) => Promise<T>,
): Promise<{ purpose: string; received: T }> => {
  const parser = open(upload)
  const source = upload.bytes
  let purpose: string | undefined
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
    if (name !== 'purpose' || purpose !== undefined || truncated) return fail(invalid('body', 'unexpected field'))
    purpose = value
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
    if (purpose === undefined) throw invalid('purpose')
    return { purpose, received: await receiving }
  } catch (error) {
    // `receive` must clean up before the response is sent.
    await receiving?.catch(() => undefined)
    source.unpipe(parser)
    await drain(source)
    throw error
  }
}
