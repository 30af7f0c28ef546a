import type { IncomingHttpHeaders } from 'node:http'
import { getBuiltinModule } from 'node:process'
import { buffer } from 'node:stream/consumers'
import { setDeadline } from '../../../platform/runtime/index.ts'

/** A worker whose operations listener is open. */
export interface ServingWorker {
  number: number
  pid: number
  /** Path of the socket of its operations listener. */
  socket: string
}

interface Question {
  method: string
  url: string
  headers: IncomingHttpHeaders
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Of one connection. The operations listener reads no body. */
const hopHeaders = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'te',
  'trailer',
  'expect',
]

/** Rejects if the worker does not answer in time. */
export function requestFrom(
  { socket }: ServingWorker,
  { method, url, headers }: Question,
  timeoutMs: number,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const { request } = getBuiltinModule('node:http')
  const sent = request({ socketPath: socket, method, path: url, headers: withoutHopHeaders(headers), agent: false })
  const timer = setDeadline(() => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  sent.on('error', reject)
  sent.on('response', (response) => {
    buffer(response).then(
      (body) => resolve({ status: response.statusCode ?? 502, headers: withoutHopHeaders(response.headers), body }),
      reject,
    )
  })
  sent.end()
  return promise.finally(() => clearTimeout(timer))
}

function withoutHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.includes(name)))
}
