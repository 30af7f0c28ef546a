import { setTimeout as pause } from 'node:timers/promises'

/** The events that a receiver got. Bodies are not kept, because there are millions. */
export interface Arrivals {
  add(event: { id: string; type: string; subject: string }): void
  /** How many ids arrived for the event of this type and subject. */
  count(key: string): number
  /** Ids that arrived more than once. */
  readonly repeated: ReadonlySet<string>
  /** Ids that arrived with different events. */
  readonly mixed: ReadonlySet<string>
  /** Resolves when all these events have arrived, or none for `silenceMs`. */
  settled(expected: readonly string[], silenceMs: number): Promise<void>
}

export function eventKey(type: string, subject: string): string {
  return `${type} ${subject}`
}

export function createArrivals(): Arrivals {
  const [keysById, counts] = [new Map<string, string>(), new Map<string, number>()]
  const [repeated, mixed] = [new Set<string>(), new Set<string>()]
  let lastAt = performance.now()
  return {
    repeated,
    mixed,
    add: ({ id, type, subject }) => {
      lastAt = performance.now()
      const key = eventKey(type, subject)
      const before = keysById.get(id)
      if (before !== undefined) {
        repeated.add(id)
        if (before !== key) mixed.add(id)
        return
      }
      keysById.set(id, key)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    count: (key) => counts.get(key) ?? 0,
    settled: async (expected, silenceMs) => {
      lastAt = performance.now()
      for (const key of expected) while (!counts.has(key) && performance.now() - lastAt < silenceMs) await pause(250)
    },
  }
}
