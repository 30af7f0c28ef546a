import { type RawBuilder, sql } from 'kysely'
import { type Database, type Param, statement, type Tx, timestamptz } from '../../database/index.ts'
import { addMs, days, type Instant, type Portal, toDate } from '../../kernel/index.ts'

export interface FailureSubject {
  portal: Portal
  digest: Uint8Array
}

export interface LockoutRule {
  limit: number
  windowMs: number
  firstWaitMs: number
  maxWaitMs: number
}

/**
 * How long after its last wait a subject keeps its failures. If it were the window only, someone who pauses for a window
 * between guesses would get the shortest wait every time: 900 guesses a day.
 */
export const failureRetentionMs = ({ windowMs }: Pick<LockoutRule, 'windowMs'>): number => Math.max(windowMs, days(1))

/**
 * Failures in a row lead to waits from this many times the limit on, however far apart they are: 100 by default, the
 * maximum of NIST SP 800-63B-4 (3.2.2). Otherwise, staying below the limit in every window would allow guesses forever.
 */
const windowsInARow = 10

/** The number that determines the wait: failures in the window, or failures in a row once these are too many. */
const effectiveFailures = (failures: RawBuilder<number>, inARow: RawBuilder<number>, { limit }: LockoutRule) =>
  sql<number>`greatest(${failures}, ${inARow} - ${(windowsInARow - 1) * limit}::float8)`

/** The wait after failure number `failures`, as an interval: null below the limit, then doubling. */
const waitAfter = (failures: RawBuilder<number>, rule: LockoutRule): RawBuilder<unknown> =>
  sql`CASE WHEN ${failures} >= ${rule.limit}::float8 THEN make_interval(secs => least(
    ${rule.maxWaitMs / 1_000}::float8,
    ${rule.firstWaitMs / 1_000}::float8 * power(2, least(${failures} - ${rule.limit}::float8, 30)))) END`

/**
 * Counts a failure before the password or code is checked. Returns undefined if the check may go on, otherwise when the
 * lockout ends. A new window starts once the last one has ended or, after a wait, once its failures are no longer kept. A
 * row of failures ends with a day without any. A window or a wait that lies further ahead than its own length was stored
 * before the clock was set back, and has ended.
 */
export const countFailure = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: LockoutRule,
  now: Instant,
): Promise<Instant | undefined> => {
  const at = timestamptz(now)
  const hasPassed = (since: RawBuilder<unknown>, ms: number) =>
    sql`abs(extract(epoch FROM ${since} - ${at})) * 1000 >= ${ms}::float8`
  const failures = sql<number>`(CASE
    WHEN known.failures < ${rule.limit}::float8 AND ${hasPassed(sql`known.window_started_at`, rule.windowMs)} THEN 1
    WHEN known.failures >= ${rule.limit}::float8
      AND ${hasPassed(sql`coalesce(known.blocked_until, known.window_started_at)`, failureRetentionMs(rule))} THEN 1
    ELSE known.failures + 1 END)`
  const lastSeen = sql`greatest(known.window_started_at, known.blocked_until)`
  const inARow = sql<number>`(CASE WHEN ${hasPassed(lastSeen, failureRetentionMs(rule))} THEN 1 ELSE known.in_a_row + 1 END)`
  const first = sql<number>`1`
  const before = effectiveFailures(sql.ref('known.failures'), sql.ref('known.in_a_row'), rule)
  const counted = await sql`
    INSERT INTO login_failures AS known (portal, subject_digest, window_started_at, failures, in_a_row, blocked_until)
    VALUES (${portal}, ${digest}, ${at}, 1, 1, ${at} + ${waitAfter(first, rule)})
    ON CONFLICT (portal, subject_digest) DO UPDATE SET
      window_started_at = CASE WHEN ${failures} = 1 THEN ${at} ELSE known.window_started_at END,
      failures = ${failures},
      in_a_row = ${inARow},
      blocked_until = ${at} + ${waitAfter(effectiveFailures(failures, inARow, rule), rule)}
    WHERE known.blocked_until IS NULL OR known.blocked_until <= ${at}
      OR known.blocked_until > ${at} + 2 * ${waitAfter(before, rule)}
    RETURNING known.failures`.execute(database)
  if (counted.rows.length > 0) return undefined
  const known = await database
    .selectFrom('login_failures')
    .select('blocked_until')
    .where('portal', '=', portal)
    .where('subject_digest', '=', digest)
    .executeTakeFirst()
  return known?.blocked_until ?? now
}

/** Withdraws a failure that was counted in advance, and its wait. */
export const withdrawFailure = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: LockoutRule,
  now: Instant,
): Promise<void> => {
  const counted = effectiveFailures(sql.ref('failures'), sql.ref('in_a_row'), rule)
  await database
    .updateTable('login_failures')
    .set((row) => ({
      failures: sql<number>`greatest(${row.ref('failures')} - 1, 0)`,
      in_a_row: sql<number>`greatest(${row.ref('in_a_row')} - 1, 0)`,
      blocked_until: sql<Date | null>`CASE WHEN ${counted} > ${rule.limit}::float8 THEN ${toDate(now)}::timestamptz END`,
    }))
    .where('portal', '=', portal)
    .where('subject_digest', '=', digest)
    .execute()
}

/** The number of failures that count now. */
export const readFailures = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: LockoutRule,
  now: Instant,
): Promise<number> => {
  const windowSince = timestamptz(addMs(now, -rule.windowMs))
  const since = timestamptz(addMs(now, -failureRetentionMs(rule)))
  const counted = effectiveFailures(
    sql`CASE WHEN window_started_at > ${windowSince} OR blocked_until > ${since} THEN failures ELSE 0 END`,
    sql`CASE WHEN greatest(window_started_at, blocked_until) > ${since} THEN in_a_row ELSE 0 END`,
    rule,
  )
  const found = await database
    .selectFrom('login_failures')
    .select(counted.as('counted'))
    .where('portal', '=', portal)
    .where('subject_digest', '=', digest)
    .executeTakeFirst()
  return Math.max(found?.counted ?? 0, 0)
}

const deleteFailures = statement((store, given: Param<{ portal: Portal; digest: Uint8Array }>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', given('portal'))
    .where('subject_digest', '=', given('digest')),
)

/** Deletes the failures of a subject, such as after a completed sign-in. */
export const clearFailures = async (tx: Tx, { portal, digest }: FailureSubject): Promise<void> => {
  await deleteFailures.all(tx, { portal, digest })
}
