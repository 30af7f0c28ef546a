import { sql } from 'kysely'
import { type Database, moment, type Tx } from '../../database/index.ts'
import { addMs, type Ids, type Instant, toDate } from '../../kernel/index.ts'

export interface Lease {
  jobId: string
  leaseId: string
  kind: string
  payload: unknown
  attempt: number
}

/** Puts a job in the queue in the transaction of the act that asks for it, so that neither exists without the other. */
export const enqueueJob = async (
  tx: Tx | Database,
  ids: Ids,
  { kind, payload, at }: { kind: string; payload: object; at: Instant },
): Promise<void> => {
  await tx
    .insertInto('jobs')
    .values({ ...waiting(ids, kind, at), payload: JSON.stringify(payload), every_ms: null })
    .execute()
}

const waiting = (ids: Ids, kind: string, at: Instant) => ({
  biz_id: ids.next<'job'>(),
  kind,
  status: 'WAITING' as const,
  run_at: toDate(at),
  lease_biz_id: null,
  failure: null,
  created_at: toDate(at),
})

/** Sees to it that a recurring kind has its one row. A shorter interval than it was made with counts at once. */
export const keepRecurring = async (
  database: Database,
  ids: Ids,
  { kind, everyMs, at, firstAt }: { kind: string; everyMs: number; at: Instant; firstAt: Instant },
): Promise<void> => {
  const next = moment(addMs(at, everyMs))
  await database
    .insertInto('jobs')
    .values({ ...waiting(ids, kind, at), run_at: toDate(firstAt), payload: '{}', every_ms: everyMs })
    .onConflict((conflict) =>
      conflict
        .column('kind')
        .where('every_ms', 'is not', null)
        .doUpdateSet({ every_ms: everyMs, run_at: sql`least(jobs.run_at, ${next})` }),
    )
    .execute()
}

/** Nothing waits longer for its next attempt. */
export const longestPauseMs = 300_000

/**
 * Takes the job that is due longest, a waiting one or one whose holder has let its lease run out. Replicas that ask at
 * once pass over each other's rows. One that would wait longer than any does was put off before the clock was set back;
 * replicas' clocks agree to within a lease.
 */
export const leaseJob = async (
  database: Database,
  { kinds, leaseId, at, leaseMs }: { kinds: string[]; leaseId: string; at: Instant; leaseMs: number },
): Promise<Lease | undefined> => {
  const due = database
    .selectFrom('jobs')
    .select('biz_id')
    .where('kind', 'in', kinds)
    .where('status', '!=', 'FAILED')
    .where((eb) =>
      eb.or([
        eb('run_at', '<=', moment(at)),
        sql<boolean>`run_at > ${moment(addMs(at, leaseMs))} + coalesce(every_ms, ${longestPauseMs}) * interval '1 ms'`,
      ]),
    )
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', moment(at))]))
    .orderBy('run_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
  return await database
    .updateTable('jobs')
    .set({
      status: 'LEASED',
      lease_biz_id: leaseId,
      lease_until: toDate(addMs(at, leaseMs)),
      attempts: sql<number>`attempts + 1`,
    })
    .where('biz_id', '=', (eb) => eb.selectFrom(due.as('due')).select('due.biz_id'))
    .returning(['biz_id as jobId', sql<string>`lease_biz_id`.as('leaseId'), 'kind', 'payload', 'attempts as attempt'])
    .executeTakeFirst()
}

/** Whether the lease was still ours to prolong. */
export const prolongLease = async (database: Database, lease: Lease, until: Instant): Promise<boolean> => {
  const kept = await database
    .updateTable('jobs')
    .set({ lease_until: toDate(until) })
    .where('biz_id', '=', lease.jobId)
    .where('lease_biz_id', '=', lease.leaseId)
    .returning('biz_id')
    .executeTakeFirst()
  return kept !== undefined
}

/** Done, and so gone. */
export const deleteJob = async (database: Database, lease: Lease): Promise<void> => {
  await database
    .deleteFrom('jobs')
    .where('biz_id', '=', lease.jobId)
    .where('lease_biz_id', '=', lease.leaseId)
    .execute()
}

/** Lets it wait for its next time, or for ever: `runAt` null is given up. */
export const returnJob = async (
  database: Database,
  lease: Lease,
  { runAt, failure, attempts }: { runAt: Instant | null; failure: string | null; attempts: number },
): Promise<void> => {
  await database
    .updateTable('jobs')
    .set({
      status: runAt === null ? 'FAILED' : 'WAITING',
      lease_biz_id: null,
      lease_until: null,
      failure,
      attempts,
      ...(runAt !== null && { run_at: toDate(runAt) }),
    })
    .where('biz_id', '=', lease.jobId)
    .where('lease_biz_id', '=', lease.leaseId)
    .execute()
}

/** Those whose last attempt was due before an instant. */
export const deleteFailedJobs = async (database: Database, before: Instant): Promise<void> => {
  await database.deleteFrom('jobs').where('status', '=', 'FAILED').where('run_at', '<', moment(before)).execute()
}
