import { PassThrough, type Readable } from 'node:stream'
import type { Configuration } from '../../../config/index.ts'
import { invalid, type MaybePromise, parseStrictJson, Refusal, skipBom } from '../../../kernel/index.ts'
import { setDeadline } from '../../../platform/runtime/index.ts'
import { type Call, clientDisconnected, type Stage } from '../call.ts'
import type { Reauthorize } from './access-control.ts'

/**
 * Throws REQUEST.TOO_LARGE, REQUEST.TIMEOUT if the body is not complete in time, and REQUEST.MALFORMED if it ends
 * early.
 */
export function readBody(source: Readable, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      source.off('data', onData).off('end', onEnd).off('error', onError).off('aborted', onAborted)
      finish()
    }
    const refuse = (refusal: Refusal) => settle(() => reject(refusal))
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) refuse(new Refusal('REQUEST.TOO_LARGE', { internal: 'body' }))
      else chunks.push(chunk)
    }
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const onError = (cause: Error) => refuse(new Refusal('REQUEST.MALFORMED', { internal: 'body broke off', cause }))
    const onAborted = () => refuse(clientDisconnected())
    const timer = setDeadline(() => refuse(new Refusal('REQUEST.TIMEOUT', { internal: 'body' })), timeoutMs)
    source.on('data', onData).on('end', onEnd).on('error', onError).on('aborted', onAborted)
  })
}

export interface UploadPace {
  windowMs: number
  /** Applies only while we are ready to read. */
  bytes: number
}

/**
 * Fails with REQUEST.TIMEOUT if the client is too slow. Ignores windows in which the reader paused the source.
 * `beforeEnd` runs after the last byte; if it throws, the stream fails.
 */
export function enforcePace(source: Readable, pace: UploadPace, beforeEnd: () => MaybePromise<void>): Readable {
  const paced = new PassThrough({
    flush: (done) => {
      Promise.try(beforeEnd).then(() => done(), done)
    },
  })
  let received = 0
  let wasPaused = false
  const timer = setInterval(() => {
    if (received < pace.bytes && !wasPaused)
      paced.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'upload too slow' }))
    received = 0
    wasPaused = source.isPaused()
  }, pace.windowMs)
  const stop = () => clearInterval(timer)
  // Without this listener, an error without a reader would end the process.
  paced.on('error', () => undefined).on('close', stop)
  source
    .on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    .on('pause', () => {
      wasPaused = true
    })
    .on('end', stop)
    .on('error', (error) => paced.destroy(error))
    .on('close', () => {
      if (!source.readableEnded) paced.destroy()
    })
  return source.pipe(paced)
}

/**
 * Every charset must be UTF-8, also as `utf8`. Other parameters have no meaning for JSON (RFC 8259, 11). A list of
 * parameters may have empty entries (RFC 9110, 5.6.6).
 */
const jsonType =
  /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-?8"?\s*|(?!charset[\s*=])[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")\s*)?)*$/i
/** RFC 7644, 3.1: clients of SCIM can also send plain JSON. */
const scimJsonType = new RegExp(jsonType.source.replace('json', String.raw`(?:scim\+)?json`), 'i')
const multipartType = /^multipart\/form-data\s*;/i

/** A boundary has at most 70 characters (RFC 2046). The type is sent to upstreams in a header. */
const maxTypeLength = 256

/** Every HTTP library frames these bodies. With other methods, a service could read a body as the next request. */
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])
const rawType = /^[!-~ ]+$/

/** The slowest mobile networks send several times as much. */
const uploadBytesPerSecond = 1_024

/** Uploads and raw bodies stay streams, with a minimum speed. */
export function bodyStage(settings: Configuration['requests'], reauthorize: Reauthorize): Stage {
  const { bodyTimeoutMs } = settings
  const pace = { windowMs: bodyTimeoutMs, bytes: (uploadBytesPerSecond * bodyTimeoutMs) / 1_000 }
  return (call) => {
    const encoding = call.headers.optional('content-encoding')
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupported('content encoding')
    if (call.operation.body === 'multipart') {
      const contentType = readMediaType(call, multipartType)
      call.upload = { contentType, bytes: enforcePace(call.body, pace, reauthorize(call)) }
      return
    }
    if (call.operation.body === 'raw') {
      const upload = rawUpload(call)
      if (upload) call.upload = { ...upload, bytes: enforcePace(call.body, pace, reauthorize(call)) }
      return
    }
    const length = call.headers.optional('content-length')
    if (length === undefined ? !call.headers.has('transfer-encoding') : length === '0') return
    if (Number(length) > settings.maxBodyBytes) throw new Refusal('REQUEST.TOO_LARGE', { internal: 'content length' })
    return readPayload(call, settings, reauthorize)
  }
}

function unsupported(internal: string): Refusal {
  return new Refusal('REQUEST.UNSUPPORTED_MEDIA_TYPE', { internal })
}

function readMediaType(call: Call, accepted: RegExp): string {
  const type = call.headers.optional('content-type') ?? ''
  if (type.length > maxTypeLength || !accepted.test(type)) throw unsupported('content type')
  return type
}

function rawUpload(call: Call): { contentType: string } | undefined {
  const length = call.headers.optional('content-length')
  if (length === undefined ? !call.headers.has('transfer-encoding') : length === '0') return undefined
  if (!methodsWithBody.has(call.method)) throw invalid('body', `${call.method} takes no body`)
  return { contentType: call.headers.has('content-type') ? readMediaType(call, rawType) : 'application/octet-stream' }
}

async function readPayload(
  call: Call,
  { maxBodyBytes, bodyTimeoutMs }: Configuration['requests'],
  reauthorize: Reauthorize,
): Promise<void> {
  const authorizeAgain = reauthorize(call)
  const bytes = await readBody(call.body, maxBodyBytes, bodyTimeoutMs)
  await authorizeAgain()
  if (bytes.length === 0) return
  readMediaType(call, call.operation.protocol === 'scim' ? scimJsonType : jsonType)
  const parsed = parseStrictJson(skipBom(bytes))
  if (!parsed.ok) {
    const { malformedBody } = call.operation
    throw malformedBody ? new Refusal(malformedBody, { internal: parsed.reason }) : invalid('body', parsed.reason)
  }
  call.payload = parsed.value
}
