import { type RawBuilder, sql } from 'kysely'
import { type Database, type Given, moment, statement, type Tx } from '../../database/index.ts'
import { addMs, days, type Instant, type Portal, toDate } from '../../kernel/index.ts'

export interface FailureSubject {
  portal: Portal
  digest: Uint8Array
}

export interface FailureRule {
  limit: number
  windowMs: number
  firstWaitMs: number
  longestWaitMs: number
}

/**
 * How long after its last wait a subject begins anew. Were it no longer than the window, whoever pauses for one between their
 * guesses would meet the shortest wait each time: nine hundred guesses a day.
 */
export const rememberedMs = ({ windowMs }: Pick<FailureRule, 'windowMs'>): number => Math.max(windowMs, days(1))

/**
 * So many times the limit, in a row, bring waits however far they lie apart: at most a hundred by default, as NIST SP 800-63B-4
 * (3.2.2) grants. Whoever stopped short of the limit in every window had as many guesses as they had windows.
 */
const windowsInARow = 10

/** What waits go by: the failures of a window, or those in a row once they are too many. */
const judged = (failures: RawBuilder<number>, inARow: RawBuilder<number>, { limit }: FailureRule) =>
  sql<number>`greatest(${failures}, ${inARow} - ${(windowsInARow - 1) * limit}::float8)`

/** The wait that failure number `failures` brings, as an interval: none below the limit, then doubling. */
const waitAfter = (failures: RawBuilder<number>, rule: FailureRule): RawBuilder<unknown> =>
  sql`CASE WHEN ${failures} >= ${rule.limit}::float8 THEN make_interval(secs => least(
    ${rule.longestWaitMs / 1_000}::float8,
    ${rule.firstWaitMs / 1_000}::float8 * power(2, least(${failures} - ${rule.limit}::float8, 30)))) END`

/**
 * Counts a try as failed before it is looked at. Answers when the next one is let in if this one is not: undefined
 * means that it may go on. The window starts anew once it is over, and after a wait once that is no longer remembered; a row of
 * failures ends with a day without any. A window or a wait that lies ahead by more than its own time was begun before the clock
 * was set back, and is over.
 */
export const countFailure = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: FailureRule,
  now: Instant,
): Promise<Instant | undefined> => {
  const at = moment(now)
  const isOver = (since: RawBuilder<unknown>, ms: number) =>
    sql`abs(extract(epoch FROM ${since} - ${at})) * 1000 >= ${ms}::float8`
  const failures = sql<number>`(CASE
    WHEN known.failures < ${rule.limit}::float8 AND ${isOver(sql`known.window_started_at`, rule.windowMs)} THEN 1
    WHEN known.failures >= ${rule.limit}::float8
      AND ${isOver(sql`coalesce(known.blocked_until, known.window_started_at)`, rememberedMs(rule))} THEN 1
    ELSE known.failures + 1 END)`
  const lastSeen = sql`greatest(known.window_started_at, known.blocked_until)`
  const inARow = sql<number>`(CASE WHEN ${isOver(lastSeen, rememberedMs(rule))} THEN 1 ELSE known.in_a_row + 1 END)`
  const first = sql<number>`1`
  const before = judged(sql.ref('known.failures'), sql.ref('known.in_a_row'), rule)
  const counted = await sql`
    INSERT INTO login_failures AS known (portal, subject_digest, window_started_at, failures, in_a_row, blocked_until)
    VALUES (${portal}, ${digest}, ${at}, 1, 1, ${at} + ${waitAfter(first, rule)})
    ON CONFLICT (portal, subject_digest) DO UPDATE SET
      window_started_at = CASE WHEN ${failures} = 1 THEN ${at} ELSE known.window_started_at END,
      failures = ${failures},
      in_a_row = ${inARow},
      blocked_until = ${at} + ${waitAfter(judged(failures, inARow, rule), rule)}
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

/** Takes back a try that turned out not to be a failure, and the wait that it brought. */
export const uncountFailure = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: FailureRule,
  now: Instant,
): Promise<void> => {
  const counted = judged(sql.ref('failures'), sql.ref('in_a_row'), rule)
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

/** The failures that count now: those of the window that is open, or that a wait is remembered for, or in a row. */
export const failuresOf = async (
  database: Database,
  { portal, digest }: FailureSubject,
  rule: FailureRule,
  now: Instant,
): Promise<number> => {
  const windowSince = moment(addMs(now, -rule.windowMs))
  const since = moment(addMs(now, -rememberedMs(rule)))
  const counted = judged(
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

const clearing = statement((store, given: Given<{ portal: Portal; digest: Uint8Array }>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', given('portal'))
    .where('subject_digest', '=', given('digest')),
)

/** A login that came to its end wipes the slate. */
export const clearFailures = async (tx: Tx, { portal, digest }: FailureSubject): Promise<void> => {
  await clearing.all(tx, { portal, digest })
}
