import { addMs, type Clock, type Instant, toInstant } from '../../src/kernel/index.ts'

export interface TestClock extends Clock {
  advance(milliseconds: number): void
  set(at: Instant): void
}

/** This clock stands still until it is set or advanced. */
export function testClock(start = toInstant(Date.UTC(2026, 0, 5, 12))): TestClock {
  let now = start
  return {
    now: () => now,
    advance: (milliseconds) => {
      now = addMs(now, milliseconds)
    },
    set: (at) => {
      now = at
    },
  }
}
