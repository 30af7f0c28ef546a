import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, moment } from '../database/index.ts'
import { addMs, days, type Instant } from '../kernel/index.ts'
import { type FailureRule, rememberedMs } from './login/failure-store.ts'

/** Long enough to answer a question about what happened; nothing here is looked at any more. */
const kept = days(30)
const keptBriefly = days(1)

/** Rows of one statement: the embedded store serves nobody meanwhile, and a server undoes them where it is cut off. */
const most = 1_000

interface Done {
  table: 'one_time_codes' | 'login_sessions' | 'password_tokens' | 'login_failures' | 'refresh_tokens' | 'sessions'
  /** The column of an index, by which they are found, and what is not after it. */
  column: 'expires_at' | 'window_started_at'
  before: Instant
  where?: RawBuilder<SqlBool>
}

const deleteSome = async (database: Database, { table, column, before, where }: Done): Promise<number> => {
  const [from, end] = [sql.table(table), sql.ref(column)]
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM ${from} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${from} WHERE ${end} < ${moment(before)} AND ${where ?? sql.lit(true)}
       ORDER BY ${end} LIMIT ${most} FOR UPDATE SKIP LOCKED))`.execute(database)
  return Number(numAffectedRows)
}

/**
 * Deletes what can never count again: spent or expired logins and codes, old failures, the refresh tokens of sessions that are
 * over, and later the sessions. Failures stay for as long as they may count. History and the audit log stay. For a
 * job, now and then; harmless on several replicas. A signal ends it between two statements.
 */
export const sweepIdentity = async (
  database: Database,
  now: Instant,
  failures: Pick<FailureRule, 'windowMs'>,
  signal?: AbortSignal,
): Promise<void> => {
  const briefly = addMs(now, -keptBriefly)
  const uncounted = addMs(now, -rememberedMs(failures))
  const noWait = sql<SqlBool>`(blocked_until IS NULL OR blocked_until < ${moment(uncounted)})`
  const all: Done[] = [
    { table: 'one_time_codes', column: 'expires_at', before: briefly },
    { table: 'login_sessions', column: 'expires_at', before: briefly },
    { table: 'login_failures', column: 'window_started_at', before: uncounted, where: noWait },
    { table: 'password_tokens', column: 'expires_at', before: briefly },
    { table: 'refresh_tokens', column: 'expires_at', before: briefly },
    { table: 'sessions', column: 'expires_at', before: addMs(now, -kept) },
  ]
  for (const done of all) {
    for (let gone = most; gone === most; ) {
      signal?.throwIfAborted()
      gone = await deleteSome(database, done)
    }
  }
}
