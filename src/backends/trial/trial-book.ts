import { hash } from 'node:crypto'
import type { CanaryConfiguration, ShadowConfiguration, TrialConfiguration } from '../../config/index.ts'
import { type Clock, type Durations, isRecord } from '../../kernel/index.ts'
import type { PubSub } from '../../platform/pubsub.ts'
import { Canary, type CanaryReturn } from './canary.ts'
import { DifferenceLog } from './difference-log.ts'
import type { TrialMetrics } from './metrics.ts'

export interface TrialBookPorts {
  clock: Clock
  durations: Durations
  pubsub: PubSub
  metrics: Pick<TrialMetrics, 'watchCanaries'>
  /** `isOwn`: this replica has decided. */
  onReturn(returned: CanaryReturn, isOwn: boolean): void
}

/** Redis confirms the subscription within this time. Messages before it are lost. */
const introductionMs = 1_000

/**
 * The states of canaries and shadows, which outlive a reload that does not change their settings. Domains with equal
 * settings share them, so that one workspace returns with all of its domains. Replicas tell each other which canaries
 * have returned. Messages can be lost: then a replica decides by the failures that it sees.
 */
export class TrialBook {
  readonly #ports: TrialBookPorts
  readonly #canaries = new Map<string, Canary>()
  readonly #differences = new Map<string, DifferenceLog>()

  constructor(ports: TrialBookPorts) {
    this.#ports = ports
    ports.metrics.watchCanaries(() =>
      [...this.#canaries.values()].map(({ settings: { url }, isReturned }) => ({ url, isReturned })),
    )
    ports.pubsub.subscribe('canaries', (text) => this.#receive(text))
  }

  canaryOf(settings: CanaryConfiguration): Canary {
    const key = keyOf(settings)
    const known = this.#canaries.get(key)
    if (known) return known
    const { durations, onReturn } = this.#ports
    const canary = new Canary(settings, durations, (returned) => {
      this.#send({ kind: 'returned', canary: key })
      onReturn(returned, true)
    })
    this.#canaries.set(key, canary)
    this.#ask()
    durations.after(introductionMs, () => this.#ask()).unref()
    return canary
  }

  differencesOf(settings: ShadowConfiguration): DifferenceLog {
    const key = keyOf(settings)
    const log = this.#differences.get(key) ?? new DifferenceLog(this.#ports.clock)
    this.#differences.set(key, log)
    return log
  }

  /** Forgets the states of other settings. */
  retain(current: readonly TrialConfiguration[]): void {
    const used = new Set(current.flatMap(({ shadow, canary }) => [shadow, canary]).map((each) => each && keyOf(each)))
    for (const key of this.#canaries.keys()) if (!used.has(key)) this.#canaries.delete(key)
    for (const key of this.#differences.keys()) if (!used.has(key)) this.#differences.delete(key)
  }

  /** Other replicas may have returned a canary. */
  #ask(): void {
    this.#send({ kind: 'ask' })
  }

  #send(message: object): void {
    this.#ports.pubsub.publish('canaries', JSON.stringify(message))
  }

  #receive(text: string): void {
    const message = parse(text)
    if (message?.kind === 'ask') {
      for (const [canary, { isReturned }] of this.#canaries) if (isReturned) this.#send({ kind: 'returned', canary })
    }
    if (message?.kind !== 'returned') return
    const canary = this.#canaries.get(String(message.canary))
    if (canary?.returnToBackend()) this.#ports.onReturn({ url: canary.settings.url, requests: 0, failures: 0 }, false)
  }
}

/** Undefined for a text that no replica of this version sends. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return isRecord(message) ? message : undefined
  } catch {
    return undefined
  }
}

function keyOf(settings: CanaryConfiguration | ShadowConfiguration): string {
  return hash('sha256', JSON.stringify(settings))
}
