import { isRecord, parseInvalidFields } from '../kernel/index.ts'
import { PorticoError } from './errors.ts'

export interface Envelope {
  success: boolean
  code: string
  message: string
  /** Epoch milliseconds by the gateway's clock. Null in a 401 of users/self. */
  timestamp: number | null
  data: unknown
  /** The envelope as received. */
  json: object
}

/** Undefined if the body is not JSON. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Throws a PorticoError with the refusal's code, or CLIENT.INVALID_REPLY for other responses, such as a proxy's 503.
 */
export function readEnvelope(response: Response, json: unknown, requestId: string): Envelope {
  const { status, headers, ok } = response
  const envelope = parseEnvelope(json)
  if (envelope?.success && ok) return envelope
  const facts = { status, requestId, retryAfter: parseRetryAfter(headers) }
  if (envelope && !envelope.success)
    throw new PorticoError({
      ...facts,
      code: envelope.code,
      message: envelope.message,
      fields: parseInvalidFields(headers.get('x-portico-fields') ?? ''),
      oldestCursor: headers.get('x-oldest-cursor'),
    })
  // A browser hides the status of a redirect.
  const kind = response.type === 'opaqueredirect' ? 'redirect' : `response with status ${status}`
  throw new PorticoError({ ...facts, code: 'CLIENT.INVALID_REPLY', message: `the ${kind} has no envelope` })
}

function parseEnvelope(value: unknown): Envelope | null {
  if (!isRecord(value)) return null
  const { success, code, message, timestamp, data } = value
  if (typeof success !== 'boolean' || typeof code !== 'string' || typeof message !== 'string') return null
  const at = typeof timestamp === 'number' ? timestamp : null
  return { success, code, message, timestamp: at, data: data ?? null, json: value }
}

/** In seconds. The gateway never sends a date. */
function parseRetryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after')
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}
