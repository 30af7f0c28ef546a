import type { IncomingHttpHeaders } from 'node:http'
import { headers as knownHeaders } from '../../contract/headers.ts'
import { invalid } from '../../kernel/index.ts'

/** A request's headers as Node reports them: by lower-case name, and as a flat list of names and values. */
export interface ReceivedHeaders {
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
}

const noRepeats: ReadonlyMap<string, string> = new Map()

/**
 * Returns the repeated headers with their first value. Node joins the values of some repeated headers and drops those
 * of others.
 */
const findRepeats = ({ headers, rawHeaders }: ReceivedHeaders): ReadonlyMap<string, string> => {
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

/** The headers of a request by lower-case name. Distinguishes repeated headers from single ones. */
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

  /**
   * Returns the value, or undefined if the header is absent. Throws for a repeated header, because another reader could
   * use the other value.
   */
  optional(name: string): string | undefined {
    if (this.#repeated.has(name)) throw invalid(name, `repeated header ${name}`)
    return this.#first(name)
  }

  /**
   * Returns the first value, or '' if the header is absent. Use it only for display, such as a log line, and never for
   * a decision.
   */
  informative(name: string): string {
    return this.#first(name) ?? ''
  }
}

/**
 * Returns the channel session that a request names by either header. Returns null without one, and for an empty header.
 */
export const readChannelSessionId = (headers: Headers): string | null =>
  headers.optional(knownHeaders.channelSession.field) ||
  headers.optional(knownHeaders.shortChannelSession.field) ||
  null
