import { addMs, type Clock, type Instant, toInstant } from '../../src/kernel/index.ts'

/** A clock that a test sets and advances. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void
  set(at: Instant): void
}

/** Creates a clock that stands still until it is set or advanced. */
export const testClock = (start = toInstant(Date.UTC(2026, 0, 5, 12))): TestClock => {
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
