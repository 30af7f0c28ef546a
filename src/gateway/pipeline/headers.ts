import type { IncomingHttpHeaders } from 'node:http'
import { parseIdempotencyKey } from '../../contract/header-values.ts'
import { headers as knownHeaders } from '../../contract/headers.ts'
import { invalid } from '../../kernel/index.ts'

/** As Node reports them. The raw list alternates names and values. */
export interface ReceivedHeaders {
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
}

const noRepeats: ReadonlyMap<string, string> = new Map()

export class Headers {
  readonly #headers: IncomingHttpHeaders
  readonly #repeated: ReadonlyMap<string, string>

  constructor(received: ReceivedHeaders) {
    this.#headers = received.headers
    this.#repeated = findRepeats(received)
  }

  #first(name: string): string | undefined {
    const value = this.#headers[name]
    if (this.#repeated.size === 0) return typeof value === 'string' ? value : undefined
    return this.#repeated.get(name) ?? (typeof value === 'string' ? value : undefined)
  }

  has(name: string): boolean {
    return this.#headers[name] !== undefined
  }

  isRepeated(name: string): boolean {
    return this.#repeated.has(name)
  }

  /** Throws if the header is repeated, because another program could read a different value. */
  optional(name: string): string | undefined {
    if (this.#repeated.has(name)) throw invalid(name, `repeated header ${name}`)
    return this.#first(name)
  }

  /** Repeated headers are joined, as an edge must do for HTTP/2 (RFC 9113, section 8.2.3). */
  cookies(): string {
    return this.#headers.cookie ?? ''
  }

  /** Returns the first value, or ''. Use it only for display and never for a decision. */
  informative(name: string): string {
    return this.#first(name) ?? ''
  }
}

/** Either header is accepted. An empty one counts as absent. */
export function readChannelSessionId(headers: Headers): string | null {
  return (
    headers.optional(knownHeaders.channelSession.field) ||
    headers.optional(knownHeaders.shortChannelSession.field) ||
    null
  )
}

/** Null if the header is absent, repeated or malformed. The `idempotency` stage refuses the latter two. */
export function readIdempotencyKey(headers: Headers): string | null {
  const { field } = knownHeaders.idempotencyKey
  return headers.isRepeated(field) ? null : (parseIdempotencyKey(headers.informative(field)) ?? null)
}

/** Returns the first values. Node joins the values of some repeated headers, and drops all but one of others. */
function findRepeats({ headers, rawHeaders }: ReceivedHeaders): ReadonlyMap<string, string> {
  if (Object.keys(headers).length * 2 === rawHeaders.length) return noRepeats
  const first = new Map<string, string>()
  const repeated = new Map<string, string>()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const known = first.get(name)
    if (known === undefined) first.set(name, rawHeaders[index + 1] ?? '')
    else repeated.set(name, known)
  }
  return repeated
}
