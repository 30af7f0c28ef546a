import { formatIdempotencyKey, parseIdempotencyKey } from '../contract/idempotency-key.ts'
import type { Operation } from '../kernel/index.ts'
import { PorticoError } from './errors.ts'

/** The key of a command is its request id. If a proxy drops the key or replaces the id, the gateway still has the other. */
export function idempotencyHeader({ policy }: Operation, requestId: string): Record<string, string> {
  return policy.idempotent ? { 'idempotency-key': formatIdempotencyKey(requestId) } : {}
}

type SentHeaders = Readonly<Record<string, string>>

/** Whether a response has another id than its request. Browsers hide the header unless the edge exposes it. */
export function isReplaced({ 'x-request-id': sent = '' }: SentHeaders, { headers }: Response): boolean {
  const echoed = headers.get('x-request-id')
  // Some edges add a second header with their own id.
  return echoed !== null && !echoed.split(', ').includes(sent)
}

/** What the responses show about the path to the gateway: whether a retry is still the same command. One per client. */
export class CommandIdentity {
  #isReplaced = false
  #isKeyRead = false

  /** The gateway repeats Idempotency-Key if it identifies the command. */
  learn(sent: SentHeaders, response: Response): void {
    if (isReplaced(sent, response)) this.#isReplaced = true
    const key = parseIdempotencyKey(sent['idempotency-key'] ?? '')
    const echoed = parseIdempotencyKey(response.headers.get('idempotency-key') ?? '')
    if (key !== undefined && key === echoed) this.#isKeyRead = true
  }

  /** Throws CLIENT.REQUEST_ID_REPLACED if a retry could execute the command a second time. */
  assertRepeatable(error: PorticoError): void {
    if (!this.#isReplaced || this.#isKeyRead) return
    throw new PorticoError({
      status: error.status,
      code: 'CLIENT.REQUEST_ID_REPLACED',
      message: `the command was not repeated, because ${replacedId}, and no response has confirmed Idempotency-Key`,
      requestId: error.requestId,
      cause: error,
    })
  }
}

/** See docs/guides/tls-and-edges.md. */
export const replacedId = 'a proxy in front of the gateway replaces X-Request-Id (docs/guides/tls-and-edges.md)'
