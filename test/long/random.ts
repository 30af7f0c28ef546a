/** Random values that a seed repeats. Not for secrets. */
export interface Random {
  /** At least 0 and less than 1. */
  next(): number
  /** An integer from `low` to `high`. */
  between(low: number, high: number): number
  pick<T>(values: readonly [T, ...T[]]): T
  uuid(): string
}

/** Mulberry32, because the platform has no generator with a seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const hex = (digits: number): string => Array.from({ length: digits }, () => between(0, 15).toString(16)).join('')
  return {
    next,
    between,
    pick: (values) => values[between(0, values.length - 1)] ?? values[0],
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  }
}
