import { droppedKey, isKeyRead, isReplaced, replacedId } from '../client/headers.ts'
import { type Check, toCheck } from './checks.ts'

/** Compares the ids of requests and responses, which shows what the proxies in front of the gateway replace. */
export class EdgeWatch {
  readonly fetch: typeof globalThis.fetch
  #responses = 0
  #replacedIds = 0
  #lostKeys = 0

  constructor(fetch: typeof globalThis.fetch) {
    this.fetch = async (input, init) => {
      const response = await fetch(input, init)
      this.#observe(Object.fromEntries(new Headers(init?.headers)), response)
      return response
    }
  }

  check(): Check {
    const findings = [
      ...(this.#replacedIds > 0 ? [`${replacedId}: ${this.#replacedIds} responses`] : []),
      ...(this.#lostKeys > 0 ? [`${droppedKey}: ${this.#lostKeys} responses`] : []),
    ]
    return toCheck('X-Request-Id and Idempotency-Key reach the gateway', `${this.#responses} responses`, findings)
  }

  /** A response without X-Request-Id is not from the gateway. */
  #observe(sent: Record<string, string>, response: Response): void {
    if (!response.headers.has('x-request-id')) return
    this.#responses += 1
    if (isReplaced(sent, response)) this.#replacedIds += 1
    if (sent['idempotency-key'] !== undefined && !isKeyRead(sent, response)) this.#lostKeys += 1
  }
}
