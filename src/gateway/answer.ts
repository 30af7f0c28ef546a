import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import {
  type Clock,
  chains,
  codes,
  failureText,
  type Locale,
  numericCode,
  Refusal,
  type StreamReply,
  successText,
  type Words,
} from '../kernel/index.ts'
import { passedOn } from '../platform/system/index.ts'
import type { Call } from './call.ts'

type Fields = Record<string, string>

/** What leaves: an envelope of interface.md 2.1 as text, with its status and fields, names and values in turn. */
export interface Answer {
  status: number
  fields: readonly string[]
  body: string
}

export interface Answers {
  /** `data` is JSON text. */
  success(call: Call, data: string): Answer
  /** `call` is null where no operation was found. */
  refusal(refusal: Refusal, call: Call | null, locale: Locale): Answer
  write(response: ServerResponse, requestId: string, answer: Answer): void
  /** Sends bytes as they come. A source that breaks off breaks the connection off, so that nobody takes it for whole. */
  stream(response: ServerResponse, call: Call, reply: StreamReply): Promise<void>
}

const flat = (fields: Fields): string[] => Object.entries(fields).flat()

/** The RateLimit fields of draft-ietf-httpapi-ratelimit-headers, for the limit that is nearest to its end. */
const limitFields = (call: Call | null): string[] => {
  if (!call?.limit) return []
  const { name, limit, windowMs, remaining, resetMs } = call.limit
  const policy = `"${name}";q=${limit};w=${Math.round(windowMs / 1000)}`
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${Math.ceil(resetMs / 1000)}`]
}

/** The other end closed before everything was sent: no fault of ours. */
const isPrematureClose = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

const selfFailure = (refusal: Refusal, at: number, message: string): string => {
  const code = numericCode(refusal.code)
  if (refusal.status === 401) return JSON.stringify({ success: false, code, message })
  return JSON.stringify({ version: chains.self.envelope, timestamp: at, success: false, code, message, data: null })
}

async function* counted(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    passedOn(chunk.length)
    yield chunk
  }
}

export const createAnswers = (ports: { clock: Clock; words: Words; securityFields: Fields }): Answers => {
  const { clock, words, securityFields } = ports
  // Flat, names and values in turn: the form that Node writes out without looking at it again.
  const json = flat({ ...securityFields, 'content-type': 'application/json; charset=utf-8' })
  const bytes = flat(securityFields)
  return {
    success: (call, data) => {
      const shown = call.sealReply ? JSON.stringify({ payload: call.sealReply(data) }) : data
      return { status: 200, fields: limitFields(call), body: successText(call.chain.envelope, clock.now(), shown) }
    },
    refusal: (refusal, call, locale) => {
      const { field, retryAfter, headers } = refusal.detail
      const message = words.refusal(refusal.code, locale, field)
      const at = clock.now()
      const fields = [...limitFields(call), ...flat(headers ?? {})]
      if (retryAfter !== undefined) fields.push('retry-after', String(retryAfter))
      const body =
        call?.chainId === 'self'
          ? selfFailure(refusal, at, message)
          : failureText(call?.chain.envelope ?? chains.consumer.envelope, at, refusal.code, message)
      return { status: codes[refusal.code].status, fields, body }
    },
    write: (response, requestId, { status, fields, body }) => {
      const length = Buffer.byteLength(body)
      const own = ['x-request-id', requestId, 'content-length', String(length)]
      // A text of ASCII alone is the same in both encodings, and the one that has nothing to look for is written faster.
      response.writeHead(status, json.concat(fields, own)).end(body, length === body.length ? 'latin1' : 'utf8')
    },
    stream: async (response, call, reply) => {
      const own = [...flat(reply.headers), 'x-request-id', call.requestId]
      response.writeHead(reply.status, bytes.concat(limitFields(call), own))
      if (call.method === 'HEAD') {
        reply.body.destroy()
        response.end()
        return
      }
      try {
        await pipeline(reply.body, counted, response)
      } catch (cause) {
        if (!isPrematureClose(cause)) throw cause
        throw new Refusal('REQUEST.MALFORMED', { internal: 'client went away', cause })
      }
    },
  }
}
