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
  /** By caller. Two halves form the sliding window. */
  #current = new Map<string, Counts>()
  #previous = new Map<string, Counts>()
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
    return sumOf([...this.#previous.values(), ...this.#current.values()])
  }

  record(caller: string, isFailure: boolean): void {
    if (this.#isReturned) return
    this.#slide()
    const tally = this.#current.get(caller) ?? { requests: 0, failures: 0 }
    this.#current.set(caller, tally)
    tally.requests += 1
    if (!isFailure) return
    tally.failures += 1
    const { requests, failures } = this.counts
    const { url, maxErrorShare, minRequests } = this.settings
    if (requests < minRequests || this.#shareOfOthers() <= maxErrorShare) return
    this.#isReturned = true
    this.#onReturn({ url, requests, failures })
  }

  /** Another replica has decided. Returns false if it was returned before. */
  returnToBackend(): boolean {
    if (this.#isReturned) return false
    this.#isReturned = true
    return true
  }

  /** Without the caller with the most failures, so that nobody can return a canary of others alone. */
  #shareOfOthers(): number {
    const callers = new Set([...this.#previous.keys(), ...this.#current.keys()])
    const tallies = [...callers]
      .map((caller) => sumOf([this.#previous.get(caller), this.#current.get(caller)].flatMap((each) => each ?? [])))
      .toSorted((one, other) => other.failures - one.failures)
    const { requests, failures } = sumOf(tallies.length > 1 ? tallies.slice(1) : tallies)
    return failures / requests
  }

  #slide(): void {
    const halfMs = this.settings.windowMs / 2
    const elapsed = this.#durations.now() - this.#halfStart
    if (elapsed < halfMs) return
    this.#previous = elapsed < 2 * halfMs ? this.#current : new Map()
    this.#current = new Map()
    this.#halfStart += elapsed
  }
}

function sumOf(tallies: readonly Counts[]): Counts {
  const sum = { requests: 0, failures: 0 }
  for (const { requests, failures } of tallies) {
    sum.requests += requests
    sum.failures += failures
  }
  return sum
}
