import type { Dispatcher } from 'undici'
import { Refusal } from '../kernel/index.ts'
import { invalidReply, type Reply, tooLong } from './upstream-reply.ts'

interface Bounds {
  maxReplyBytes: number
  /** Milliseconds that are left, from now to the last byte. */
  remainingMs: number
}

const one = (value: string | string[] | undefined): string => (Array.isArray(value) ? value.join(', ') : (value ?? ''))

/** Why a reply is not read at all: an encoding that we did not ask for, or more than we take. */
const objection = (
  headers: Record<string, string | string[] | undefined>,
  maxReplyBytes: number,
): Refusal | undefined => {
  const encoding = one(headers['content-encoding'])
  if (encoding !== '' && encoding !== 'identity') return invalidReply('content encoding')
  return Number(one(headers['content-length'])) > maxReplyBytes ? tooLong('reply') : undefined
}

/**
 * One request whose answer is read whole, within its bounds. undici's dispatch is used below its promises and streams,
 * which would cost as much as everything else that the gateway does for a request.
 */
export const exchangeWhole = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { maxReplyBytes, remainingMs }: Bounds,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let status = 0
    let contentType = ''
    let retryAfter = ''
    let rateLimitPolicy = ''
    let controller: Dispatcher.DispatchController | null = null
    let failed: Error | null = null
    const fail = (error: Error) => {
      clearTimeout(timer)
      failed = error
      reject(error)
      // The connection has to go as well: what is still coming belongs to nobody.
      controller?.abort(error)
    }
    const late = () => fail(new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline' }))
    const timer = setTimeout(late, Math.max(0, remainingMs))
    dispatcher.dispatch(request, {
      onRequestStart: (started) => {
        controller = started
        // Its turn for a connection has come too late: sent now it would take place after it was refused.
        if (failed) started.abort(failed)
      },
      onRequestUpgrade: (_controller, _status, _headers, socket) => {
        socket.destroy()
        fail(invalidReply('an upgrade'))
      },
      onResponseStart: (_controller, statusCode, headers) => {
        status = statusCode
        contentType = one(headers['content-type'])
        retryAfter = one(headers['retry-after'])
        rateLimitPolicy = one(headers['ratelimit-policy'])
        const refused = objection(headers, maxReplyBytes)
        if (refused) fail(refused)
      },
      onResponseData: (_controller, chunk) => {
        size += chunk.length
        if (size > maxReplyBytes) fail(tooLong('reply'))
        else chunks.push(chunk)
      },
      onResponseEnd: () => {
        clearTimeout(timer)
        const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
        resolve({ status, contentType, retryAfter, rateLimitPolicy, bytes })
      },
      onResponseError: (_controller, error) => {
        clearTimeout(timer)
        reject(error)
      },
    })
  })
