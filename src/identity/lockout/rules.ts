import { addMs, days, type Instant } from '../../kernel/index.ts'

/** Durations are in milliseconds. */
export interface LockoutRule {
  /** Failures per window that lead to a lockout. */
  limit: number
  windowMs: number
  /** Length of the first lockout. Every further failure doubles it, up to `maxWaitMs`. */
  firstWaitMs: number
  maxWaitMs: number
}

export interface Failures {
  windowStartedAt: Instant
  inWindow: number
  /** Failures since the last sign-in, or since a day without failures. */
  consecutive: number
  lockedUntil: Instant | null
}

export function noFailures(now: Instant): Failures {
  return {
    windowStartedAt: now,
    inWindow: 0,
    consecutive: 0,
    lockedUntil: null,
  }
}

/**
 * With a retention of one window, an attacker who pauses for a window after each lockout would always get the shortest
 * lockout, and could make 900 guesses a day.
 */
export function failureRetentionMs({ windowMs }: Pick<LockoutRule, 'windowMs'>): number {
  return Math.max(windowMs, days(1))
}

/**
 * Consecutive failures above this multiple of the limit lock out across windows. Otherwise, an attacker below the limit
 * in every window could guess forever. The default allows 100 consecutive failures, the maximum of NIST SP 800-63B-4,
 * section 3.2.2.
 */
const maxWindows = 10

/** Ignores a lockout that ends after more than twice its length: it was stored before the clock was set back. */
export function isLockedOut(
  failures: Failures,
  rule: LockoutRule,
  now: Instant,
): failures is Failures & { lockedUntil: Instant } {
  const { lockedUntil } = failures
  if (lockedUntil === null || lockedUntil <= now) return false
  const waitMs = lockoutMs(effectiveFailures(failures, rule), rule)
  return waitMs === undefined || lockedUntil <= now + 2 * waitMs
}

export function addFailure(failures: Failures, rule: LockoutRule, now: Instant): Failures {
  const inWindow = hasWindowEnded(failures, rule, now) ? 1 : failures.inWindow + 1
  const consecutive = hasPassed(lastFailureAt(failures), failureRetentionMs(rule), now) ? 1 : failures.consecutive + 1
  const windowStartedAt = inWindow === 1 ? now : failures.windowStartedAt
  const added = { windowStartedAt, inWindow, consecutive, lockedUntil: null }
  const waitMs = lockoutMs(effectiveFailures(added, rule), rule)
  return waitMs === undefined ? added : { ...added, lockedUntil: addMs(now, waitMs) }
}

/** If a lockout of earlier failures remains, it ends now. */
export function removeFailure(failures: Failures, rule: LockoutRule, now: Instant): Failures {
  return {
    windowStartedAt: failures.windowStartedAt,
    inWindow: Math.max(failures.inWindow - 1, 0),
    consecutive: Math.max(failures.consecutive - 1, 0),
    lockedUntil: effectiveFailures(failures, rule) > rule.limit ? now : null,
  }
}

/** Adds up failures of one subject that were counted separately. Ignores failures that are no longer retained. */
export function mergeFailures(all: readonly Failures[], rule: LockoutRule, now: Instant): Failures {
  const retained = all.filter(
    (each) => each.consecutive > 0 && !hasPassed(lastFailureAt(each), failureRetentionMs(rule), now),
  )
  const inWindow = retained.filter((each) => !hasWindowEnded(each, rule, now))
  const lockouts = retained.flatMap(({ lockedUntil }) => (lockedUntil === null ? [] : [lockedUntil]))
  const merged = {
    windowStartedAt: retained.map((each) => each.windowStartedAt).reduce(laterOf, retained[0]?.windowStartedAt ?? now),
    inWindow: sumOf(inWindow.map((each) => each.inWindow)),
    consecutive: sumOf(retained.map((each) => each.consecutive)),
    lockedUntil: lockouts.length === 0 ? null : lockouts.reduce(laterOf),
  }
  const waitMs = lockoutMs(effectiveFailures(merged, rule), rule)
  return waitMs === undefined || merged.lockedUntil !== null ? merged : { ...merged, lockedUntil: addMs(now, waitMs) }
}

/** Returns how many more failures are possible before a lockout. */
export function remainingFailures(failures: Failures, rule: LockoutRule, now: Instant): number {
  const { windowStartedAt, lockedUntil } = failures
  const retainedFrom = addMs(now, -failureRetentionMs(rule))
  const isWindowOpen = windowStartedAt > now - rule.windowMs || (lockedUntil !== null && lockedUntil > retainedFrom)
  const counted = {
    ...failures,
    inWindow: isWindowOpen ? failures.inWindow : 0,
    consecutive: lastFailureAt(failures) > retainedFrom ? failures.consecutive : 0,
  }
  return Math.max(0, rule.limit - Math.max(0, effectiveFailures(counted, rule)))
}

function lockoutMs(failures: number, { limit, firstWaitMs, maxWaitMs }: LockoutRule): number | undefined {
  return failures < limit ? undefined : Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(failures - limit, 30))
}

function effectiveFailures({ inWindow, consecutive }: Failures, { limit }: LockoutRule): number {
  return Math.max(inWindow, consecutive - (maxWindows - 1) * limit)
}

/** A window with a lockout ends with the retention of its failures. */
function hasWindowEnded(failures: Failures, rule: LockoutRule, now: Instant): boolean {
  return failures.inWindow < rule.limit
    ? hasPassed(failures.windowStartedAt, rule.windowMs, now)
    : hasPassed(failures.lockedUntil ?? failures.windowStartedAt, failureRetentionMs(rule), now)
}

/** Compare the absolute difference, because `since` can be in the future after the clock was set back. */
function hasPassed(since: Instant, ms: number, now: Instant): boolean {
  return Math.abs(now - since) >= ms
}

function lastFailureAt({ windowStartedAt, lockedUntil }: Failures): Instant {
  return lockedUntil !== null && lockedUntil > windowStartedAt ? lockedUntil : windowStartedAt
}

function laterOf(a: Instant, b: Instant): Instant {
  return a > b ? a : b
}
function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}
