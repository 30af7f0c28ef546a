import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { addMs, type Ids, type Instant, toDate } from '../../kernel/index.ts'

/** A leased job. `leaseId` distinguishes the leases of one job. */
export interface Lease {
  jobId: string
  leaseId: string
  kind: string
  payload: unknown
  attempt: number
}

/** Adds a job in the transaction of the action that requires it, so that neither exists without the other. */
export const enqueueJob = async (
  tx: Tx | Database,
  ids: Ids,
  { kind, payload, at }: { kind: string; payload: object; at: Instant },
): Promise<void> => {
  await tx
    .insertInto('jobs')
    .values({ ...newJob(ids, kind, at), payload: JSON.stringify(payload), every_ms: null })
    .execute()
}

const newJob = (ids: Ids, kind: string, at: Instant) => ({
  biz_id: ids.next<'job'>(),
  kind,
  status: 'WAITING' as const,
  run_at: toDate(at),
  lease_biz_id: null,
  failure: null,
  created_at: toDate(at),
})

/** Creates the row of a recurring kind if it is missing. A shortened interval applies immediately. */
export const upsertRecurringJob = async (
  database: Database,
  ids: Ids,
  { kind, everyMs, at, firstAt }: { kind: string; everyMs: number; at: Instant; firstAt: Instant },
): Promise<void> => {
  const next = timestamptz(addMs(at, everyMs))
  await database
    .insertInto('jobs')
    .values({ ...newJob(ids, kind, at), run_at: toDate(firstAt), payload: '{}', every_ms: everyMs })
    .onConflict((conflict) =>
      conflict
        .column('kind')
        .where('every_ms', 'is not', null)
        .doUpdateSet({ every_ms: everyMs, run_at: sql`least(jobs.run_at, ${next})` }),
    )
    .execute()
}

/** Maximum wait before the next attempt. */
export const maxBackoffMs = 300_000

/**
 * Leases the job with the earliest due time: a waiting one, or one whose lease has expired. Skips rows that other replicas
 * are leasing. A job due later than its maximum wait was scheduled before the clock was set back, and is due now. The
 * clocks of replicas may differ by up to a lease.
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
        eb('run_at', '<=', timestamptz(at)),
        sql<boolean>`run_at > ${timestamptz(addMs(at, leaseMs))} + coalesce(every_ms, ${maxBackoffMs}) * interval '1 ms'`,
      ]),
    )
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', timestamptz(at))]))
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

/** Extends a lease. Returns false if it was lost. */
export const renewLease = async (database: Database, lease: Lease, until: Instant): Promise<boolean> => {
  const renewed = await database
    .updateTable('jobs')
    .set({ lease_until: toDate(until) })
    .where('biz_id', '=', lease.jobId)
    .where('lease_biz_id', '=', lease.leaseId)
    .returning('biz_id')
    .executeTakeFirst()
  return renewed !== undefined
}

/** Deletes a completed job. */
export const deleteJob = async (database: Database, lease: Lease): Promise<void> => {
  await database
    .deleteFrom('jobs')
    .where('biz_id', '=', lease.jobId)
    .where('lease_biz_id', '=', lease.leaseId)
    .execute()
}

/** Schedules a job's next attempt, or marks the job as failed if `runAt` is null. */
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

/** Deletes failed jobs whose last attempt was due before an instant. */
export const deleteFailedJobs = async (database: Database, before: Instant): Promise<void> => {
  await database.deleteFrom('jobs').where('status', '=', 'FAILED').where('run_at', '<', timestamptz(before)).execute()
}
