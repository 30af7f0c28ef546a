import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { type Durations, Refusal, wholeSeconds } from '../../kernel/index.ts'
import { networkKey } from '../../platform/limits/index.ts'
import type { BreakerState, CircuitChange } from './metrics.ts'
import { UnreachableRefusal, UpstreamRefusal } from './reply.ts'

export type Caller = Pick<Call, 'caller' | 'clientIp'>

interface Tally {
  account: string | null
  network: string
  replies: number
  failures: number
}

/** Two of these form the sliding window. */
const halfWindowMs = 5_000
const minFailureShare = 0.5
const maxProbeGapMs = 1_000

/** The account, or the IPv4 /24 or IPv6 /48 of an anonymous caller: one customer of a provider can get a whole /48. */
export function callerKey({ caller, clientIp }: Caller): string {
  return caller?.accountId ?? networkKey(clientIp)
}

/** A library's circuit breaker knows no callers, and makes everyone wait for one slow probe (decision 53). */
export class Circuit {
  readonly #settings: UpstreamConfiguration['breaker']
  readonly #durations: Durations
  readonly #onChange: (change: CircuitChange) => void
  #current = openWindow()
  #previous = openWindow()
  #windowStart: number
  #openedAt: number | null = null
  #probedAt = Number.NEGATIVE_INFINITY
  /** The time of the last probe of each caller, the oldest first. */
  readonly #probes = new Map<string, number>()
  /** Attempts from before the last change do not show the present state. */
  #changes = 0

  constructor(
    settings: UpstreamConfiguration['breaker'],
    durations: Durations,
    onChange: (change: CircuitChange) => void,
  ) {
    this.#settings = settings
    this.#durations = durations
    this.#onChange = onChange
    this.#windowStart = durations.now()
  }

  /** Half open means that probes are admitted. */
  get state(): BreakerState {
    if (this.#openedAt === null) return 0
    return this.#durations.now() - this.#openedAt < this.#settings.openMs ? 2 : 1
  }

  /** Throws SYSTEM.UNAVAILABLE without an attempt while the circuit is open. */
  async run(caller: Caller, attempt: () => Promise<unknown>): Promise<unknown> {
    const network = networkKey(caller.clientIp)
    const account = caller.caller?.accountId ?? null
    const key = callerKey(caller)
    if (this.#openedAt !== null && !this.#admitsProbe(key, this.#openedAt))
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: wholeSeconds(this.#openedAt + this.#settings.openMs - this.#durations.now()),
        internal: 'the circuit of the upstream is open',
      })
    const changes = this.#changes
    const record = (isFailure: boolean): void => {
      if (changes === this.#changes) this.#record(key, { account, network }, isFailure)
    }
    try {
      const reply = await attempt()
      record(false)
      return reply
    } catch (error) {
      if (error instanceof UnreachableRefusal) record(true)
      else if (error instanceof UpstreamRefusal) record(false)
      throw error
    }
  }

  /** A slow probe delays no other. A caller whose probes always fail cannot keep the circuit open. */
  #admitsProbe(key: string, openedAt: number): boolean {
    const { openMs } = this.#settings
    const now = this.#durations.now()
    if (now - openedAt < openMs || now - this.#probedAt < Math.min(openMs, maxProbeGapMs)) return false
    for (const [caller, at] of this.#probes) {
      if (now - at < openMs) break
      this.#probes.delete(caller)
    }
    if (this.#probes.has(key)) return false
    this.#probes.set(key, now)
    this.#probedAt = now
    return true
  }

  #record(key: string, caller: Pick<Tally, 'account' | 'network'>, isFailure: boolean): void {
    if (this.#openedAt !== null) {
      if (!isFailure) this.#change(null, [])
      return
    }
    this.#slide()
    const tally = this.#current.byCaller.get(key) ?? { ...caller, replies: 0, failures: 0 }
    this.#current.byCaller.set(key, tally)
    if (!isFailure) {
      tally.replies += 1
      return
    }
    tally.failures += 1
    this.#current.failures += 1
    if (this.#current.failures + this.#previous.failures < this.#settings.failures) return
    const tallies = addTallies([this.#previous, this.#current])
    if (isUnreachable(tallies)) this.#change(this.#durations.now(), tallies)
  }

  #slide(): void {
    const elapsed = this.#durations.now() - this.#windowStart
    if (elapsed < halfWindowMs) return
    this.#previous = elapsed < 2 * halfWindowMs ? this.#current : openWindow()
    this.#current = openWindow()
    this.#windowStart += elapsed
  }

  #change(openedAt: number | null, tallies: readonly Tally[]): void {
    this.#openedAt = openedAt
    this.#changes += 1
    this.#current = openWindow()
    this.#previous = openWindow()
    this.#probes.clear()
    this.#probedAt = Number.NEGATIVE_INFINITY
    const failures = tallies.reduce((sum, each) => sum + each.failures, 0)
    this.#onChange({ isOpen: openedAt !== null, failures, callers: tallies.length })
  }
}

interface Window {
  byCaller: Map<string, Tally>
  failures: number
}

function openWindow(): Window {
  return { byCaller: new Map(), failures: 0 }
}

function addTallies(windows: readonly Window[]): Tally[] {
  const sums = new Map<string, Tally>()
  for (const { byCaller } of windows)
    for (const [key, tally] of byCaller) {
      const { replies, failures } = sums.get(key) ?? { replies: 0, failures: 0 }
      sums.set(key, { ...tally, replies: tally.replies + replies, failures: tally.failures + failures })
    }
  return [...sums.values()]
}

/**
 * Disregards the caller with the most failures, so that nobody can open a circuit alone. Each other caller has one
 * vote, however many requests it sends.
 */
function isUnreachable(tallies: readonly Tally[]): boolean {
  const worst = tallies.reduce((most, each) => (each.failures > most.failures ? each : most))
  const others = tallies.filter((each) => !isSamePerson(each, worst))
  const votes = others.reduce((sum, { replies, failures }) => sum + failures / (replies + failures), 0)
  return others.length > 0 && votes / others.length >= minFailureShare
}

/** An anonymous request can be from an account in the same network. */
function isSamePerson(one: Tally, other: Tally): boolean {
  return one.account !== null && other.account !== null ? one.account === other.account : one.network === other.network
}
