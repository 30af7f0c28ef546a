import { globalAgent } from 'node:https'
import { setDeadline } from './runtime/deadline.ts'

export interface FetchOptions {
  method?: 'POST'
  headers?: Record<string, string>
  body?: URLSearchParams
  /** For the answer to be there, whole. */
  timeoutMs: number
  /** Bytes. */
  maxBytes: number
}

export interface TextResponse {
  status: number
  ok: boolean
  text: string
}

const open = async () => {
  const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
  // What is given up takes its connection with it, so that a dead one is left. Of HTTP/2 it would end a stream alone, and all that is
  // asked later would go to the same dead connection.
  const options = { allowH2: false }
  // As Node's own fetch does where Node was told to take proxies from the environment (NODE_USE_ENV_PROXY).
  const dispatcher = globalAgent.options.proxyEnv ? new EnvHttpProxyAgent(options) : new Agent(options)
  return { fetch, dispatcher }
}

let opened: ReturnType<typeof open> | undefined

/** Asks a service outside, which is no back-end, once. It is followed nowhere else; what is late or too long is an error. */
export const fetchText = async (
  url: string,
  { timeoutMs, maxBytes: longestAnswer, ...question }: FetchOptions,
): Promise<TextResponse> => {
  opened ??= open()
  const { fetch, dispatcher } = await opened
  // Not before: what it takes to load is none of the service's time.
  const late = new AbortController()
  const timer = setDeadline(
    () => late.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  )
  const tooLong = () => new Error(`an answer of more than ${longestAnswer} bytes`)
  try {
    const response = await fetch(url, { ...question, redirect: 'error', signal: late.signal, dispatcher })
    // Counted after whatever coding they came in.
    const bytes = response.body ? await readUpTo(response.body, longestAnswer, tooLong) : Buffer.alloc(0)
    return { status: response.status, ok: response.ok, text: bytes.toString('utf8') }
  } finally {
    clearTimeout(timer)
  }
}

/** What an answer from outside says. The parser's own error quotes what it could not read, and no log is to hold that. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the answer is no JSON')
  }
}

/** The bytes of an answer. One that has more of them than `maxBytes` is not read on, and fails with what `tooLong` says. */
export const readUpTo = async (
  answer: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLong: () => Error,
): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer) {
    size += chunk.length
    if (size > maxBytes) throw tooLong()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
