import * as kit from '../../src/testing/http.ts'
import { merchant, merchantCode } from './merchant-portal.ts'

export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a black-box client knows no types
  body: any
}

export interface Call {
  /** Overrides the required headers. Null removes a header. */
  headers?: Record<string, string | null>
  /** Sent as JSON. Strings and bytes are sent unchanged. */
  body?: unknown
  token?: string
  workspace?: string
}

const clientHash = 'test-client-hash'

/** With the values that an edge and a browser send. */
export function requiredHeaders(accessCode = 'consumer-dev'): Record<string, string> {
  return {
    ...kit.requiredHeaders(accessCode),
    'x-client-hash': clientHash,
  }
}

export function send(baseUrl: string, method: string, path: string, call: Call = {}): Promise<Answer> {
  return kit.send(baseUrl, method, path, {
    headers: {
      'x-client-hash': clientHash,
      ...(path.startsWith(`/web/v1/${merchant.prefix}/`) && { 'x-portal-access-code': merchantCode }),
      ...(call.token && { authorization: `Bearer ${call.token}` }),
      ...(call.workspace && { 'x-workspace-id': call.workspace }),
      ...call.headers,
    },
    body: call.body,
  })
}
