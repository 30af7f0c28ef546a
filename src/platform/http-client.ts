import { globalAgent } from 'node:https'
import { setDeadline } from './runtime/index.ts'

/** A request and the limits of its response. */
export interface FetchOptions {
  method?: 'POST'
  headers?: Record<string, string>
  body?: URLSearchParams
  /** Maximum time for the complete response. */
  timeoutMs: number
  /** Maximum size of the response body, decompressed. */
  maxBytes: number
}

/** A response with its decoded body. */
export interface TextResponse {
  status: number
  ok: boolean
  text: string
}

const loadUndici = async () => {
  const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
  // An aborted HTTP/1 request closes its connection, so a dead one is replaced. HTTP/2 would only end the stream.
  const options = { allowH2: false }
  // Like Node's own fetch, uses the proxies of the environment if NODE_USE_ENV_PROXY is set.
  const dispatcher = globalAgent.options.proxyEnv ? new EnvHttpProxyAgent(options) : new Agent(options)
  return { fetch, dispatcher }
}

let undici: ReturnType<typeof loadUndici> | undefined

/**
 * Sends one request to an external service and returns the response body as text. Follows no redirect. Rejects with a
 * TimeoutError after `timeoutMs`, and with an Error if the body is larger than `maxBytes`.
 */
export const fetchText = async (
  url: string,
  { timeoutMs, maxBytes, ...request }: FetchOptions,
): Promise<TextResponse> => {
  undici ??= loadUndici()
  const { fetch, dispatcher } = await undici
  // Start the timer only now: loading undici must not count against the service.
  const timeout = new AbortController()
  const timer = setDeadline(
    () => timeout.abort(new DOMException(`no response within ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  )
  const tooLarge = () => new Error(`response larger than ${maxBytes} bytes`)
  try {
    const response = await fetch(url, { ...request, redirect: 'error', signal: timeout.signal, dispatcher })
    const bytes = response.body ? await readUpTo(response.body, maxBytes, tooLarge) : Buffer.alloc(0)
    return { status: response.status, ok: response.ok, text: bytes.toString('utf8') }
  } finally {
    clearTimeout(timer)
  }
}

/** Parses an external response as JSON. The error does not quote the text, because it would end up in the log. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the response is not valid JSON')
  }
}

/** Reads a body into memory. Stops and throws `tooLarge()` once it exceeds `maxBytes`. */
export const readUpTo = async (
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
