import { inspect } from 'node:util'

const mask = '[secret]'

/** Key material or a connection string that cannot be printed by accident: only `reveal` hands it out. */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}
