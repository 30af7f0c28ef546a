import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../kernel/index.ts'

/** A request's fields as Node has read them: by lower-case name, and as they came, names and values in turn. */
export interface ReceivedFields {
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
}

const noRepeats: ReadonlyMap<string, string> = new Map()

/** The fields that came more than once, each with its first value, which Node's own reading may have joined with the others. */
const repeatsOf = ({ headers, rawHeaders }: ReceivedFields): ReadonlyMap<string, string> => {
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

/** The request's header fields by lower-case name, in which a repeated field can be told from a single one. */
export class Headers {
  readonly #fields: IncomingHttpHeaders
  readonly #repeated: ReadonlyMap<string, string>

  constructor(received: ReceivedFields) {
    this.#fields = received.headers
    this.#repeated = repeatsOf(received)
  }

  #first(name: string): string | undefined {
    const value = this.#fields[name]
    if (this.#repeated.size === 0) return typeof value === 'string' ? value : undefined
    return this.#repeated.get(name) ?? (typeof value === 'string' ? value : undefined)
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined
  }

  isRepeated(name: string): boolean {
    return this.#repeated.has(name)
  }

  /** The value of a field that may be absent; a repeated one is refused, since its readers might differ on it. */
  optional(name: string): string | undefined {
    if (this.#repeated.has(name)) throw invalid(name, `repeated header ${name}`)
    return this.#first(name)
  }

  /** The first value, for places that only tell (a log line, a user agent) and never decide. */
  informative(name: string): string {
    return this.#first(name) ?? ''
  }
}
