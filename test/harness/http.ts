import { randomUUID } from 'node:crypto'

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
  /** Sent as JSON. A string or bytes are sent unchanged. */
  body?: unknown
  token?: string
  workspace?: string
}

/** The headers that every request needs, with the values that the edge and a browser send. */
export const requiredHeaders = (accessCode = 'consumer-dev'): Record<string, string> => ({
  'x-portal-access-code': accessCode,
  'x-request-id': randomUUID(),
  'x-client-hash': 'test-client-hash',
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '203.0.113.7',
  'cf-ray': '8f2a1b3c4d5e6f70-FRA',
  'cf-ipcountry': 'DE',
  'x-locale': 'en',
  'content-type': 'application/json',
})

const bodyOf = (body: unknown): string | Uint8Array<ArrayBuffer> | null => {
  if (body === undefined) return null
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}

/** Sends a request as a black-box client and reads the whole response. */
export const send = async (baseUrl: string, method: string, path: string, call: Call = {}): Promise<Answer> => {
  const headers = new Headers(requiredHeaders(path.startsWith('/web/v1/system') ? 'system-dev' : 'consumer-dev'))
  if (call.token) headers.set('authorization', `Bearer ${call.token}`)
  if (call.workspace) headers.set('x-workspace-id', call.workspace)
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    if (value === null) headers.delete(name)
    else headers.set(name, value)
  }
  const response = await fetch(baseUrl + path, { method, headers, body: bodyOf(call.body), redirect: 'manual' })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : null }
}
