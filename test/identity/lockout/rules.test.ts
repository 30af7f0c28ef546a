import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addFailure,
  type Failures,
  isLockedOut,
  mergeFailures,
  noFailures,
  remainingFailures,
  removeFailure,
} from '../../../src/identity/lockout/rules.ts'
import { addMs, type Instant, toInstant } from '../../../src/kernel/index.ts'

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
const rule = { limit: 10, windowMs: 15 * minute, firstWaitMs: minute, maxWaitMs: hour }
const start = toInstant(Date.UTC(2026, 0, 5, 12))

/** Ignores lockouts. */
function failTimes(count: number, now: Instant, from: Failures = noFailures(now)): Failures {
  return Array.from({ length: count }).reduce<Failures>((failures) => addFailure(failures, rule, now), from)
}

function lockoutMs({ lockedUntil }: Failures, now: Instant): number | null {
  return lockedUntil && lockedUntil - now
}

describe('a lockout', () => {
  test.each([
    [1, null],
    [9, null],
    [10, minute],
    [11, 2 * minute],
    [12, 4 * minute],
    [15, 32 * minute],
    [16, hour],
    [60, hour],
    [2_000, hour],
  ])('after %i failures in a window lasts %s ms', (count, expected) => {
    expect(lockoutMs(failTimes(count, start), start)).toBe(expected)
  })

  test.each([
    ['at its start', 0, true],
    ['before its end', minute - 1, true],
    ['at its end', minute, false],
    ['after the clock was set back by its length', -minute, true],
    ['after the clock was set back by more', -minute - 1, false],
  ])('%s: %i ms later, locked out is %s', (_, ms, expected) => {
    expect(isLockedOut(failTimes(10, start), rule, addMs(start, ms))).toBe(expected)
  })

  test.each([
    [15 * minute, 2 * minute],
    [day - 1, 2 * minute],
    [day, null],
  ])('doubles with the next failure %i ms after its end, until a day has passed: %s ms', (pause, expected) => {
    const later = addMs(start, minute + pause)
    expect(lockoutMs(addFailure(failTimes(10, start), rule, later), later)).toBe(expected)
  })
})

describe('a window', () => {
  test.each([
    ['before its end', 15 * minute - 1, 10, minute],
    ['at its end', 15 * minute, 1, null],
    ['after the clock was set back by less than its length', -15 * minute + 1, 10, minute],
    ['after the clock was set back by its length', -15 * minute, 1, null],
  ])('%s: the tenth failure, %i ms later, is number %i', (_, ms, inWindow, expected) => {
    const now = addMs(start, ms)
    const failures = addFailure(failTimes(9, start), rule, now)
    expect([failures.inWindow, lockoutMs(failures, now)]).toEqual([inWindow, expected])
  })
})

describe('consecutive failures', () => {
  const inWindows = (windows: number, pauseMs: number) =>
    Array.from({ length: windows }).reduce<{ failures: Failures; now: Instant }>(
      ({ failures, now }) => {
        const next = addMs(now, pauseMs)
        return { failures: failTimes(9, next, failures), now: next }
      },
      { failures: noFailures(start), now: start },
    )

  test('lead to a lockout from the hundredth on, however few are in each window', () => {
    const { failures, now } = inWindows(11, 15 * minute)
    expect([failures.consecutive, failures.lockedUntil]).toEqual([99, null])
    const next = addMs(now, 15 * minute)
    expect(lockoutMs(addFailure(failures, rule, next), next)).toBe(minute)
  })

  test('start again after a day without any', () => {
    const { failures, now } = inWindows(11, 15 * minute)
    const next = addMs(now, day)
    expect(addFailure(failures, rule, next)).toMatchObject({ consecutive: 1, lockedUntil: null })
  })
})

describe('a withdrawn failure', () => {
  test('that is the only one leaves none', () => {
    const failures = removeFailure(addFailure(noFailures(start), rule, start), rule, addMs(start, second))
    expect(failures).toEqual(noFailures(start))
  })

  test('removes the lockout that it started, and ends an earlier one', () => {
    expect(removeFailure(failTimes(10, start), rule, start).lockedUntil).toBeNull()
    const later = addMs(start, 2 * minute)
    const eleven = addFailure(failTimes(10, start), rule, later)
    expect(removeFailure(eleven, rule, later)).toMatchObject({ inWindow: 10, lockedUntil: later })
  })
})

test('remaining failures count down to 0, and start again with a new window', () => {
  const remaining = (count: number, ms: number) => remainingFailures(failTimes(count, start), rule, addMs(start, ms))
  expect([remaining(0, 0), remaining(1, 0), remaining(9, 0), remaining(12, 0)]).toEqual([10, 9, 1, 0])
  expect([remaining(9, 15 * minute), remaining(12, hour), remaining(12, 2 * day)]).toEqual([10, 0, 10])
})

/** In milliseconds. Negative values set the clock back. */
const pauses = fc.array(fc.constantFrom(0, 0, 0, 0, second, minute, 15 * minute, hour, day, -second, -minute, -hour), {
  minLength: 200,
  maxLength: 400,
  size: 'max',
})

test('any sequence: at most 10 failures without a pause, and no lockout longer than an hour', () => {
  fc.assert(
    fc.property(pauses, (sequence) => {
      let now = start
      let failures = noFailures(now)
      let withoutPause = 0
      for (const pause of sequence) {
        now = addMs(now, pause)
        if (pause !== 0) withoutPause = 0
        if (isLockedOut(failures, rule, now)) {
          const end = failures.lockedUntil ?? now
          expect(end - now).toBeLessThanOrEqual(2 * hour)
          expect(isLockedOut(failures, rule, end)).toBe(false)
          continue
        }
        failures = addFailure(failures, rule, now)
        withoutPause += 1
        expect(withoutPause).toBeLessThanOrEqual(rule.limit)
        expect(lockoutMs(failures, now) ?? 0).toBeLessThanOrEqual(hour)
      }
    }),
  )
})

test('any sequence: a withdrawn failure changes no later lockout', () => {
  fc.assert(
    fc.property(pauses, (sequence) => {
      let now = start
      let failures = noFailures(now)
      for (const pause of sequence) {
        now = addMs(now, pause)
        if (isLockedOut(failures, rule, now)) continue
        const added = addFailure(failures, rule, now)
        const withdrawn = removeFailure(added, rule, now)
        expect(isLockedOut(withdrawn, rule, now)).toBe(false)
        expect(addFailure(withdrawn, rule, now)).toEqual(added)
        failures = added
      }
    }),
  )
})

describe('merged failures', () => {
  const merge = (...all: Failures[]) => mergeFailures(all, rule, addMs(start, minute))

  test('are added up in the later window; the tenth locks out', () => {
    const later = failTimes(4, addMs(start, minute))
    expect(merge(failTimes(5, start), later)).toEqual({
      windowStartedAt: addMs(start, minute),
      inWindow: 9,
      consecutive: 9,
      lockedUntil: null,
    })
    expect(lockoutMs(merge(failTimes(6, start), later), addMs(start, minute))).toBe(minute)
  })

  test('keep the later lockout', () => {
    const { lockedUntil } = merge(failTimes(12, start), failTimes(10, start))
    expect(lockedUntil).toBe(addMs(start, 4 * minute))
  })

  test.each([
    ['an ended window counts as consecutive only', 20 * minute, { inWindow: 1, consecutive: 9 }],
    ['failures of yesterday do not count', day + minute, { inWindow: 1, consecutive: 1 }],
  ])('%s', (_name, ms, expected) => {
    expect(merge(failTimes(8, addMs(start, minute - ms)), failTimes(1, start))).toMatchObject(expected)
  })

  test('of one counter without others are the same', () => {
    expect(merge(failTimes(3, start), noFailures(addMs(start, minute)))).toEqual(failTimes(3, start))
  })
})
