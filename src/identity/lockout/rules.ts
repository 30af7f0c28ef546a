import { addMs, days, type Instant } from '../../kernel/index.ts'

/** When failures lead to a lockout. Durations are milliseconds. */
export interface LockoutRule {
  /** Number of failures in a window that leads to a lockout. */
  limit: number
  windowMs: number
  /** Length of the first lockout. Every further failure doubles it, up to `maxWaitMs`. */
  firstWaitMs: number
  maxWaitMs: number
}

/** The failures of one subject. */
export interface Failures {
  windowStartedAt: Instant
  inWindow: number
  /** Number of failures since the last sign-in, or since a day without failures. */
  consecutive: number
  /** The end of the lockout. Null if there is none. */
  lockedUntil: Instant | null
}

/** Returns the state before the first failure. */
export const noFailures = (now: Instant): Failures => ({
  windowStartedAt: now,
  inWindow: 0,
  consecutive: 0,
  lockedUntil: null,
})

/**
 * How long failures are retained after the last lockout. If they were retained for the window only, someone who pauses
 * for a window between guesses would always get the shortest lockout: 900 guesses a day.
 */
export const failureRetentionMs = ({ windowMs }: Pick<LockoutRule, 'windowMs'>): number => Math.max(windowMs, days(1))

/**
 * Consecutive failures above this multiple of the limit lead to lockouts, even if they are spread over several windows.
 * The default allows 100 consecutive failures, the maximum of NIST SP 800-63B-4, section 3.2.2. Otherwise, staying
 * below the limit in every window would allow unlimited guesses.
 */
const maxWindows = 10

/**
 * Returns the number that determines the lockout: the failures in the window, or the consecutive failures beyond their
 * maximum.
 */
const effectiveFailures = ({ inWindow, consecutive }: Failures, { limit }: LockoutRule): number =>
  Math.max(inWindow, consecutive - (maxWindows - 1) * limit)

/** Length of the lockout after a number of failures; undefined below the limit. */
const lockoutMs = (failures: number, { limit, firstWaitMs, maxWaitMs }: LockoutRule): number | undefined =>
  failures < limit ? undefined : Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(failures - limit, 30))

/** Compare the absolute difference, because `since` can be in the future after the clock was set back. */
const hasPassed = (since: Instant, ms: number, now: Instant): boolean => Math.abs(now - since) >= ms

const lastFailureAt = ({ windowStartedAt, lockedUntil }: Failures): Instant =>
  lockedUntil !== null && lockedUntil > windowStartedAt ? lockedUntil : windowStartedAt

/**
 * Whether a subject is locked out. Ignores a lockout that ends later than twice its length from now: it was stored
 * before the clock was set back.
 */
export const isLockedOut = (
  failures: Failures,
  rule: LockoutRule,
  now: Instant,
): failures is Failures & { lockedUntil: Instant } => {
  const { lockedUntil } = failures
  if (lockedUntil === null || lockedUntil <= now) return false
  const waitMs = lockoutMs(effectiveFailures(failures, rule), rule)
  return waitMs === undefined || lockedUntil <= now + 2 * waitMs
}

/**
 * Whether the window has ended. A window that has led to a lockout ends only when its failures are no longer retained.
 */
const hasWindowEnded = (failures: Failures, rule: LockoutRule, now: Instant): boolean =>
  failures.inWindow < rule.limit
    ? hasPassed(failures.windowStartedAt, rule.windowMs, now)
    : hasPassed(failures.lockedUntil ?? failures.windowStartedAt, failureRetentionMs(rule), now)

/** Returns the failures after another one, which may start a lockout. */
export const addFailure = (failures: Failures, rule: LockoutRule, now: Instant): Failures => {
  const inWindow = hasWindowEnded(failures, rule, now) ? 1 : failures.inWindow + 1
  const consecutive = hasPassed(lastFailureAt(failures), failureRetentionMs(rule), now) ? 1 : failures.consecutive + 1
  const windowStartedAt = inWindow === 1 ? now : failures.windowStartedAt
  const added = { windowStartedAt, inWindow, consecutive, lockedUntil: null }
  const waitMs = lockoutMs(effectiveFailures(added, rule), rule)
  return waitMs === undefined ? added : { ...added, lockedUntil: addMs(now, waitMs) }
}

/** Returns the failures without the last one and its lockout. If an earlier lockout remains, it ends now. */
export const removeFailure = (failures: Failures, rule: LockoutRule, now: Instant): Failures => ({
  windowStartedAt: failures.windowStartedAt,
  inWindow: Math.max(failures.inWindow - 1, 0),
  consecutive: Math.max(failures.consecutive - 1, 0),
  lockedUntil: effectiveFailures(failures, rule) > rule.limit ? now : null,
})

/** Returns how many more failures are possible before a lockout. */
export const remainingFailures = (failures: Failures, rule: LockoutRule, now: Instant): number => {
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
