import { isRecord } from '../kernel/index.ts'
import { PorticoError } from './errors.ts'

/** The envelope of a response. */
export interface Envelope {
  success: boolean
  code: string
  message: string
  /** Epoch milliseconds by the gateway's clock. Null in the 401 of users/self, which has no timestamp. */
  timestamp: number | null
  data: unknown
  /** The whole envelope as received. */
  json: object
}

const parseEnvelope = (value: unknown): Envelope | null => {
  if (!isRecord(value)) return null
  const { success, code, message, timestamp, data } = value
  if (typeof success !== 'boolean' || typeof code !== 'string' || typeof message !== 'string') return null
  const at = typeof timestamp === 'number' ? timestamp : null
  return { success, code, message, timestamp: at, data: data ?? null, json: value }
}

/** Returns Retry-After in seconds. The gateway never sends the other form, a date. */
const parseRetryAfter = (headers: Headers): number | null => {
  const text = headers.get('retry-after')
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}

/** Returns the response body as JSON, or undefined if it is not JSON. */
export const readJson = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the envelope of a successful response. Throws a PorticoError with the code of a refusal. For any other
 * response, such as a 503 of a proxy, throws CLIENT.INVALID_REPLY with its status.
 */
export const readEnvelope = (response: Response, json: unknown, sentId: string): Envelope => {
  const { status, headers, ok } = response
  const envelope = parseEnvelope(json)
  if (envelope?.success && ok) return envelope
  const facts = { status, requestId: headers.get('x-request-id') ?? sentId, retryAfter: parseRetryAfter(headers) }
  if (envelope && !envelope.success)
    throw new PorticoError({ ...facts, code: envelope.code, message: envelope.message })
  // A browser hides the status of a redirect.
  const kind = response.type === 'opaqueredirect' ? 'redirect' : `response with status ${status}`
  throw new PorticoError({ ...facts, code: 'CLIENT.INVALID_REPLY', message: `the ${kind} has no envelope` })
}
