import { Readable } from 'node:stream'
import { Call, type Client, type IncomingRequest } from '../../src/gateway/pipeline/call.ts'
import { Headers } from '../../src/gateway/pipeline/headers.ts'
import { chains, type Operation, toInstant } from '../../src/kernel/index.ts'

export function headersOf(headers: Record<string, string>): Headers {
  return new Headers({ headers, rawHeaders: Object.entries(headers).flat() })
}

/** `logged` overrides the defaults of an unauthenticated call. */
export function arrivedCall(operation: Operation, logged: Partial<IncomingRequest> = {}): Call {
  return new Call({
    operation,
    chainId: 'consumer',
    chain: chains[logged.chainId ?? 'consumer'],
    params: {},
    method: operation.method,
    path: operation.path,
    query: '',
    headers: headersOf({}),
    peer: '127.0.0.1',
    client: clientOf(new AbortController().signal),
    body: Readable.from([]),
    receivedAt: toInstant(0),
    requestId: 'one',
    handshake: null,
    ...logged,
  })
}

/** A client that is gone once the signal aborts. */
export function clientOf(signal: AbortSignal): Client {
  return {
    signal,
    get isGone() {
      return signal.aborted
    },
    onGone: (listener) => signal.addEventListener('abort', listener),
    offGone: (listener) => signal.removeEventListener('abort', listener),
  }
}
