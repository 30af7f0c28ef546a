import { globalAgent } from 'node:https'
import { lookup, setDeadline } from './runtime/index.ts'

export interface FetchOptions {
  method?: 'POST'
  headers?: Record<string, string>
  body?: URLSearchParams
  timeoutMs: number
  maxBytes: number
}

export interface TextResponse {
  status: number
  ok: boolean
  headers: Pick<Headers, 'get'>
  text: string
}

/** Follow moved names, although a busy connection would stay open. */
const maxAgeMs = 60_000

let undici: ReturnType<typeof loadUndici> | undefined

/**
 * Does not follow redirects. Rejects with a TimeoutError after `timeoutMs`, and with an Error if the body is larger
 * than `maxBytes`.
 */
export async function fetchText(url: string, { timeoutMs, maxBytes, ...request }: FetchOptions): Promise<TextResponse> {
  return withDeadline(timeoutMs, async ({ fetch, dispatcher }, signal) => {
    const response = await fetch(url, { ...request, redirect: 'error', signal, dispatcher })
    const bytes = response.body ? await readUpTo(response.body, maxBytes, () => tooLarge(maxBytes)) : Buffer.alloc(0)
    const { status, ok, headers } = response
    return { status, ok, headers, text: bytes.toString('utf8') }
  })
}

/**
 * Like `fetch` for a library that calls it. Does not follow redirects. The response is complete, and the same failures
 * reject as in `fetchText`.
 */
export async function fetchResponse(
  url: string,
  request: { method: string; headers: Record<string, string>; body: string | URLSearchParams | undefined },
  { timeoutMs, maxBytes }: Pick<FetchOptions, 'timeoutMs' | 'maxBytes'>,
): Promise<Response> {
  const { method, headers, body } = request
  return withDeadline(timeoutMs, async ({ fetch, dispatcher }, signal) => {
    const init = { method, headers, redirect: 'manual', signal, dispatcher } as const
    const response = await fetch(url, body === undefined ? init : { ...init, body: String(body) })
    const bytes = response.body ? await readUpTo(response.body, maxBytes, () => tooLarge(maxBytes)) : Buffer.alloc(0)
    const { status, statusText } = response
    const isEmpty = [204, 205, 304].includes(status)
    return new Response(isEmpty ? null : new Uint8Array(bytes), {
      ...{ status, statusText, headers: [...response.headers] },
    })
  })
}

/** The error does not quote the text, because errors are logged. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    throw new Error('the response is not valid JSON')
  }
}

/** Throws `tooLarge()` once the body exceeds `maxBytes`. */
export async function readUpTo(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function withDeadline<T>(
  timeoutMs: number,
  work: (parts: Awaited<ReturnType<typeof loadUndici>>, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  undici ??= loadUndici()
  const parts = await undici
  // The time to load undici does not count.
  const timeout = new AbortController()
  const timer = setDeadline(
    () => timeout.abort(new DOMException(`no response within ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  )
  try {
    return await work(parts, timeout.signal)
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(maxBytes: number): Error {
  return new Error(`response larger than ${maxBytes} bytes`)
}

async function loadUndici() {
  const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
  // Aborting an HTTP/1 request closes a dead connection. HTTP/2 would close only the stream.
  const options = { allowH2: false, clientTtl: maxAgeMs, connect: { lookup }, proxyTls: { lookup } }
  // Like Node's fetch, obeys NODE_USE_ENV_PROXY.
  return { fetch, dispatcher: globalAgent.options.proxyEnv ? new EnvHttpProxyAgent(options) : new Agent(options) }
}
