import type { CanaryConfiguration } from '../../config/index.ts'
import type { Durations } from '../../kernel/index.ts'

export interface CanaryReturn {
  url: string
  /** Of the window. */
  requests: number
  failures: number
}

interface Counts {
  requests: number
  failures: number
}

/**
 * Whether the canary serves its callers. Once returned, it stays returned: a service that is tried again would move
 * data between two places again.
 */
export class Canary {
  readonly settings: CanaryConfiguration
  readonly #durations: Durations
  readonly #onReturn: (returned: CanaryReturn) => void
  /** Two halves form the sliding window. */
  #current: Counts = { requests: 0, failures: 0 }
  #previous: Counts = { requests: 0, failures: 0 }
  #halfStart: number
  #isReturned = false

  constructor(settings: CanaryConfiguration, durations: Durations, onReturn: (returned: CanaryReturn) => void) {
    this.settings = settings
    this.#durations = durations
    this.#onReturn = onReturn
    this.#halfStart = durations.now()
  }

  get isReturned(): boolean {
    return this.#isReturned
  }

  /** Of the window. */
  get counts(): Counts {
    this.#slide()
    return {
      requests: this.#current.requests + this.#previous.requests,
      failures: this.#current.failures + this.#previous.failures,
    }
  }

  record(isFailure: boolean): void {
    if (this.#isReturned) return
    this.#slide()
    this.#current.requests += 1
    if (!isFailure) return
    this.#current.failures += 1
    const { requests, failures } = this.counts
    const { url, maxErrorShare, minRequests } = this.settings
    if (requests < minRequests || failures / requests <= maxErrorShare) return
    this.#isReturned = true
    this.#onReturn({ url, requests, failures })
  }

  /** Another replica has decided. Returns false if it was returned before. */
  returnToBackend(): boolean {
    if (this.#isReturned) return false
    this.#isReturned = true
    return true
  }

  #slide(): void {
    const halfMs = this.settings.windowMs / 2
    const elapsed = this.#durations.now() - this.#halfStart
    if (elapsed < halfMs) return
    this.#previous = elapsed < 2 * halfMs ? this.#current : { requests: 0, failures: 0 }
    this.#current = { requests: 0, failures: 0 }
    this.#halfStart += elapsed
  }
}
