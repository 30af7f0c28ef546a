import type { ServerResponse } from 'node:http'
import { numericCode, statusOf } from '../contract/index.ts'
import type { SealedReply } from '../contract/sealed-bodies.ts'
import {
  type ChainId,
  type Clock,
  chains,
  failureEnvelope,
  type Instant,
  type Refusal,
  type StreamReply,
  successEnvelope,
  type Words,
  wholeSeconds,
} from '../kernel/index.ts'
import type { Call } from './call.ts'
import { sendStream } from './send-stream.ts'

type Fields = Record<string, string>

/** What leaves: an envelope of interface.md 2.1 as text, with its status and fields, names and values in turn. */
export interface Answer {
  status: number
  fields: readonly string[]
  body: string
}

/** What a refusal has to know of the request: a call's own facts, or what is known where no operation was found. */
export type Asked = Pick<Call, 'chainId' | 'locale' | 'limit'>

export interface Answers {
  /** `data` is JSON text. */
  success(call: Call, data: string): Answer
  refusal(refusal: Refusal, asked: Asked): Answer
  write(response: ServerResponse, requestId: string, answer: Answer): void
  stream(response: ServerResponse, call: Call, reply: StreamReply): Promise<void>
}

const flat = (fields: Fields): string[] => Object.entries(fields).flat()

/**
 * The RateLimit fields of draft-ietf-httpapi-ratelimit-headers, for the limit that refuses, else for the one that is nearest to
 * its end.
 */
const limitFields = (spent: Call['limit']): string[] => {
  if (!spent) return []
  const { name, limit, windowMs, remaining, resetMs } = spent
  const policy = `"${name}";q=${limit};w=${Math.round(windowMs / 1000)}`
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${wholeSeconds(resetMs)}`]
}

const failure = (chainId: ChainId, refusal: Refusal, at: Instant, message: string, field?: string): string => {
  const { envelope } = chains[chainId]
  if (chainId !== 'self') return failureEnvelope(envelope, at, refusal.code, message, field)
  const code = numericCode(refusal.code)
  return statusOf(refusal.code) === 401
    ? JSON.stringify({ success: false, code, message })
    : failureEnvelope(envelope, at, code, message)
}

interface AnswerPorts {
  clock: Clock
  words: Words
  securityFields: Fields
  /** Whether who asks is a gateway, which gets the name of a field apart. */
  asksForFields: boolean
  /** How long a client may take nothing of a stream (send-stream.ts). */
  stallMs: number
}

export const createAnswers = ({ clock, words, securityFields, asksForFields, stallMs }: AnswerPorts): Answers => {
  // Flat, names and values in turn: the form that Node writes out without looking at it again.
  const json = flat({ ...securityFields, 'content-type': 'application/json; charset=utf-8' })
  const bytes = flat(securityFields)
  return {
    success: (call, data) => {
      const sealed: SealedReply | null = call.sealReply && { payload: call.sealReply(data) }
      const shown = sealed ? JSON.stringify(sealed) : data
      return {
        status: 200,
        fields: limitFields(call.limit),
        body: successEnvelope(call.chain.envelope, clock.now(), shown),
      }
    },
    refusal: (refusal, { chainId, locale, limit }) => {
      const { field, retryAfter, headers, limit: refusing } = refusal.detail
      // A 401 of users/self has one sentence, whatever is wrong with the token (interface.md 4.4).
      const shortened = chainId === 'self' && statusOf(refusal.code) === 401
      const message = words.refusal(shortened ? 'ACCESS.TOKEN_INVALID' : refusal.code, locale, field)
      const fields = [...limitFields(refusing ? { ...refusing, remaining: 0 } : limit), ...flat(headers ?? {})]
      if (retryAfter !== undefined) fields.push('retry-after', String(retryAfter))
      // RFC 9110, 15.5.2; browsers ask nobody for a token, as they would for a password.
      if (statusOf(refusal.code) === 401) fields.push('www-authenticate', 'Bearer')
      const body = failure(chainId, refusal, clock.now(), message, asksForFields ? field : undefined)
      return { status: statusOf(refusal.code), fields, body }
    },
    write: (response, requestId, { status, fields, body }) => {
      const length = Buffer.byteLength(body)
      const own = ['x-request-id', requestId, 'content-length', String(length)]
      // A text of ASCII alone is the same in both encodings, and the one that has nothing to look for is written faster.
      response.writeHead(status, json.concat(fields, own)).end(body, length === body.length ? 'latin1' : 'utf8')
    },
    stream: async (response, call, reply) => {
      const own = [...flat(reply.headers), 'x-request-id', call.requestId]
      response.writeHead(reply.status, bytes.concat(limitFields(call.limit), own))
      if (call.method === 'HEAD') {
        reply.body.destroy()
        response.end()
        return
      }
      await sendStream(reply, response, stallMs)
    },
  }
}
