import { chains, type FixedPortal } from '../kernel/index.ts'
import { systemIds } from '../platform/runtime/index.ts'

export const accessCodes: Readonly<Record<FixedPortal, string>> = { CONSUMER: 'consumer-dev', SYSTEM: 'system-dev' }

export interface Credentials {
  accessToken: string
  clientHash: string
}

/** The headers and body of a request. */
export interface Call {
  /** Overrides the required headers. Null removes a header. */
  headers?: Record<string, string | null>
  /** Sent as JSON. Strings and bytes are sent unchanged. */
  body?: unknown
}

export interface Reply {
  status: number
  headers: Headers
  text: string
  /** Null unless the response is JSON. */
  body: unknown
}

/** With the values that an edge and a browser send. */
export function requiredHeaders(accessCode: string): Record<string, string> {
  return {
    'x-portal-access-code': accessCode,
    'x-request-id': systemIds.next(),
    'x-client-hash': 'portico-testing',
    'x-forwarded-proto': 'https',
    'cf-connecting-ip': '203.0.113.7',
    'cf-ray': '8f2a1b3c4d5e6f70-FRA',
    'cf-ipcountry': 'DE',
    'x-locale': 'en',
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
  }
}

export async function send(baseUrl: string, method: string, path: string, call: Call): Promise<Reply> {
  const portal = path.startsWith(chains.system.prefix) ? 'SYSTEM' : 'CONSUMER'
  const headers = new Headers(requiredHeaders(accessCodes[portal]))
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    if (value === null) headers.delete(name)
    else headers.set(name, value)
  }
  const response = await fetch(baseUrl + path, { method, headers, body: encode(call.body), redirect: 'manual' })
  const text = await response.text()
  const isJson = /^application\/(scim\+)?json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : null }
}

function encode(body: unknown): string | Uint8Array<ArrayBuffer> | null {
  if (body === undefined) return null
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}
