import { invalid } from '../kernel/index.ts'

/** The request's header fields by lower-case name, in which a repeated field can be told from a single one. */
export class Headers {
  readonly #values = new Map<string, string>()
  readonly #repeated = new Set<string>()

  /** `raw` alternates names and values, as Node hands them over. */
  constructor(raw: readonly string[]) {
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = (raw[index] ?? '').toLowerCase()
      if (this.#values.has(name)) this.#repeated.add(name)
      else this.#values.set(name, raw[index + 1] ?? '')
    }
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  isRepeated(name: string): boolean {
    return this.#repeated.has(name)
  }

  /** The value of a field that may be absent; a repeated one is refused, since its readers might differ on it. */
  optional(name: string): string | undefined {
    if (this.#repeated.size > 0 && this.#repeated.has(name)) throw invalid(name, `repeated header ${name}`)
    return this.#values.get(name)
  }

  /** The first value, for places that only tell (a log line, a user agent) and never decide. */
  informative(name: string): string {
    return this.#values.get(name) ?? ''
  }
}
