import type { ServerResponse } from 'node:http'
import type { Catalogue } from '../../contract/index.ts'
import type { SealedReply } from '../../contract/policies.ts'
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
} from '../../kernel/index.ts'
import type { Call } from '../pipeline/call.ts'
import { sendStreamBody } from './stream-body.ts'

type HeaderRecord = Record<string, string>

/** A response with an envelope as its body. */
export interface EnvelopeResponse {
  status: number
  /** Names and values, alternating. */
  headers: readonly string[]
  body: string
}

/** The properties of a request that its refusal depends on. They have default values if no operation was matched. */
export type RefusalContext = Pick<Call, 'chainId' | 'locale' | 'limit'>

/** Turns results into responses and writes them. */
export interface ResponseWriter {
  /** `data` is JSON text. */
  renderSuccess(call: Call, data: string): EnvelopeResponse
  renderRefusal(refusal: Refusal, context: RefusalContext): EnvelopeResponse
  write(response: ServerResponse, requestId: string, rendered: EnvelopeResponse): void
  writeStream(response: ServerResponse, call: Call, reply: StreamReply): Promise<void>
}

export interface ResponseWriterPorts {
  clock: Clock
  words: Words
  catalogue: Pick<Catalogue, 'numericCode' | 'statusOf'>
  securityHeaders: HeaderRecord
  /** Whether refusals name the invalid field separately, for a gateway that calls this service. */
  includesField: boolean
  /** Maximum time during which a client reads nothing of a stream. 0 means no limit. */
  stallMs: number
}

const flatten = (headers: HeaderRecord): string[] => Object.entries(headers).flat()

/**
 * Returns the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). They describe the limit that rejects the
 * request, or else the limit that is closest to its end.
 */
const rateLimitHeaders = (spent: Call['limit']): string[] => {
  if (!spent) return []
  const { name, limit, windowMs, remaining, resetMs } = spent
  const policy = `"${name}";q=${limit};w=${Math.round(windowMs / 1000)}`
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${wholeSeconds(resetMs)}`]
}

const refusalBody = (
  catalogue: ResponseWriterPorts['catalogue'],
  chainId: ChainId,
  refusal: Refusal,
  at: Instant,
  message: string,
  field?: string,
): string => {
  const { envelope } = chains[chainId]
  if (chainId !== 'self') return failureEnvelope(envelope, at, refusal.code, message, field)
  const code = catalogue.numericCode(refusal.code)
  return catalogue.statusOf(refusal.code) === 401
    ? JSON.stringify({ success: false, code, message })
    : failureEnvelope(envelope, at, code, message)
}

const renderSuccess = ({ clock }: ResponseWriterPorts, call: Call, data: string): EnvelopeResponse => {
  const sealed: SealedReply | null = call.sealReply && { payload: call.sealReply(data) }
  const content = sealed ? JSON.stringify(sealed) : data
  return {
    status: 200,
    headers: rateLimitHeaders(call.limit),
    body: successEnvelope(call.chain.envelope, clock.now(), content),
  }
}

const renderRefusal = (
  { clock, words, catalogue, includesField }: ResponseWriterPorts,
  refusal: Refusal,
  { chainId, locale, limit }: RefusalContext,
): EnvelopeResponse => {
  const status = catalogue.statusOf(refusal.code)
  const { field, retryAfter, headers: extra, limit: refusing } = refusal.detail
  // The self chain uses the same message for every 401.
  const messageCode = chainId === 'self' && status === 401 ? 'ACCESS.TOKEN_INVALID' : refusal.code
  const message = words.refusal(messageCode, locale, field)
  const headers = [...rateLimitHeaders(refusing ? { ...refusing, remaining: 0 } : limit), ...flatten(extra ?? {})]
  if (retryAfter !== undefined) headers.push('retry-after', String(retryAfter))
  // RFC 9110, 15.5.2 requires a challenge. Browsers show no password prompt for Bearer.
  if (status === 401) headers.push('www-authenticate', 'Bearer')
  const body = refusalBody(catalogue, chainId, refusal, clock.now(), message, includesField ? field : undefined)
  return { status, headers, body }
}

/** Returns the writer of all responses of the chains. */
export function createResponseWriter(ports: ResponseWriterPorts): ResponseWriter {
  // Node writes a flat list of names and values without inspecting it again.
  const jsonHeaders = flatten({ ...ports.securityHeaders, 'content-type': 'application/json; charset=utf-8' })
  const streamHeaders = flatten(ports.securityHeaders)
  return {
    renderSuccess: (call, data) => renderSuccess(ports, call, data),
    renderRefusal: (refusal, context) => renderRefusal(ports, refusal, context),
    write: (response, requestId, { status, headers, body }) => {
      const length = Buffer.byteLength(body)
      const own = ['x-request-id', requestId, 'content-length', String(length)]
      // ASCII text is the same in both encodings, and latin1 is faster to write.
      response.writeHead(status, jsonHeaders.concat(headers, own)).end(body, length === body.length ? 'latin1' : 'utf8')
    },
    writeStream: async (response, call, reply) => {
      const own = [...flatten(reply.headers), 'x-request-id', call.requestId]
      response.writeHead(reply.status, streamHeaders.concat(rateLimitHeaders(call.limit), own))
      if (call.method === 'HEAD') {
        reply.body.destroy()
        response.end()
        return
      }
      await sendStreamBody(reply, response, ports.stallMs)
    },
  }
}
