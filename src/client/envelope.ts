import { isRecord } from '../kernel/index.ts'
import { PorticoError } from './errors.ts'

/** The frame of an answer (interface.md 2.1), as far as a client needs it. */
export interface Envelope {
  success: boolean
  code: string
  message: string
  /** Epoch milliseconds by the gateway's clock; absent from the 401 of users/self. */
  timestamp: number | null
  data: unknown
  /** All of it, as it came. */
  envelope: object
}

const frameOf = (value: unknown): Envelope | null => {
  if (!isRecord(value)) return null
  const { success, code, message, timestamp, data } = value
  if (typeof success !== 'boolean' || typeof code !== 'string' || typeof message !== 'string') return null
  const at = typeof timestamp === 'number' ? timestamp : null
  return { success, code, message, timestamp: at, data: data ?? null, envelope: value }
}

/** Retry-After in seconds; its other form, a date, is not the gateway's. */
const retryAfterOf = (headers: Headers): number | null => {
  const text = headers.get('retry-after')
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}

/** The answer's JSON; undefined where it is none. */
export const readJson = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The frame of a success; a refusal is thrown by its code, and whatever is no envelope as CLIENT.INVALID_REPLY with
 * its status, so that a proxy's own 503 counts as one.
 */
export const readEnvelope = (response: Response, json: unknown, sentId: string): Envelope => {
  const { status, headers, ok } = response
  const frame = frameOf(json)
  if (frame?.success && ok) return frame
  const facts = { status, requestId: headers.get('x-request-id') ?? sentId, retryAfter: retryAfterOf(headers) }
  if (frame && !frame.success) throw new PorticoError({ ...facts, code: frame.code, message: frame.message })
  // A browser hides all else of an answer that leads elsewhere.
  const said = response.type === 'opaqueredirect' ? 'that leads elsewhere' : `with status ${status}`
  const message = `the answer ${said} is no envelope of the interface`
  throw new PorticoError({ ...facts, code: 'CLIENT.INVALID_REPLY', message })
}
