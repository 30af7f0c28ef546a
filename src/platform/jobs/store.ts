import { sql } from 'kysely'
import { type Database, query, run, type Statements, type Tx, timestamptz } from '../../database/index.ts'
import { addMs, domainOf, type Ids, type Instant, toDate } from '../../kernel/index.ts'

/** `leaseId` distinguishes the leases of one job. */
export interface Lease {
  jobId: string
  leaseId: string
  kind: string
  payload: unknown
  attempt: number
}

/** A job to add. */
export interface NewJob {
  kind: string
  payload: object
  at: Instant
}

/** By the adapter of a store, which its transactions share. */
const knownKinds = new WeakMap<object, readonly string[]>()

/** Sets the kinds that can be enqueued in a store. */
export function declareJobKinds(store: Database, kinds: readonly string[]): void {
  knownKinds.set(store.getExecutor().adapter, kinds)
}

/**
 * Adds jobs in the transaction of their action, so that none exists without it. Throws an Error if no domain has a job
 * of this kind.
 */
export async function enqueueJobs(tx: Tx | Database, ids: Ids, jobs: readonly NewJob[]): Promise<void> {
  if (jobs.length > 0) await run(tx, jobsEnqueued(tx, ids, jobs))
}

/** Like `enqueueJobs`, as statements for a batch of `tx`. Requires a job. */
export function jobsEnqueued(tx: Tx | Database, ids: Ids, jobs: readonly NewJob[]): Statements<unknown> {
  for (const { kind } of jobs) assertKnownKind(tx, kind)
  const rows = jobs.map(({ kind, payload, at }) => ({
    ...newJob(ids, kind, at),
    payload: JSON.stringify(payload),
    everyMs: null,
  }))
  return query((store) => store.insertInto('jobs').values(rows))
}

/** Adds a job, like `enqueueJobs`. */
export function enqueueJob(tx: Tx | Database, ids: Ids, job: NewJob): Promise<void> {
  return enqueueJobs(tx, ids, [job])
}

/** Keeps an existing row. A shortened interval applies immediately. */
export async function upsertRecurringJob(
  database: Database,
  ids: Ids,
  { kind, everyMs, at, firstAt }: { kind: string; everyMs: number; at: Instant; firstAt: Instant },
): Promise<void> {
  const next = timestamptz(addMs(at, everyMs))
  await database
    .insertInto('jobs')
    .values({ ...newJob(ids, kind, at), runAt: toDate(firstAt), payload: '{}', everyMs: everyMs })
    .onConflict((conflict) =>
      conflict
        .column('kind')
        .where('everyMs', 'is not', null)
        .doUpdateSet({ everyMs: everyMs, runAt: sql`least(jobs.run_at, ${next})` }),
    )
    .execute()
}

export const maxBackoffMs = 300_000

/**
 * Leases the due job with the earliest due time. Skips rows that other replicas are leasing. If the due time is further
 * away than the maximum wait, the clock was set back and the job is due. The clocks of replicas may differ by up to the
 * duration of a lease.
 */
export async function leaseJob(
  database: Database,
  { kinds, leaseId, at, leaseMs }: { kinds: string[]; leaseId: string; at: Instant; leaseMs: number },
): Promise<Lease | undefined> {
  const due = database
    .selectFrom('jobs')
    .select('bizId')
    .where('kind', 'in', kinds)
    .where('status', '!=', 'FAILED')
    .where((eb) =>
      eb.or([
        eb('runAt', '<=', timestamptz(at)),
        sql<boolean>`run_at > ${timestamptz(addMs(at, leaseMs))} + coalesce(every_ms, ${maxBackoffMs}) * interval '1 ms'`,
      ]),
    )
    .where((eb) => eb.or([eb('leaseUntil', 'is', null), eb('leaseUntil', '<=', timestamptz(at))]))
    .orderBy('runAt')
    .limit(1)
    .forUpdate()
    .skipLocked()
  return await database
    .updateTable('jobs')
    .set({
      status: 'LEASED',
      leaseBizId: leaseId,
      leaseUntil: toDate(addMs(at, leaseMs)),
      attempts: sql<number>`attempts + 1`,
    })
    .where('bizId', '=', (eb) => eb.selectFrom(due.as('due')).select('due.bizId'))
    .returning(['bizId as jobId', sql<string>`lease_biz_id`.as('leaseId'), 'kind', 'payload', 'attempts as attempt'])
    .executeTakeFirst()
}

/** Returns false if the lease was lost. */
export async function renewLease(database: Database, lease: Lease, until: Instant): Promise<boolean> {
  const renewed = await database
    .updateTable('jobs')
    .set({ leaseUntil: toDate(until) })
    .where('bizId', '=', lease.jobId)
    .where('leaseBizId', '=', lease.leaseId)
    .returning('bizId')
    .executeTakeFirst()
  return renewed !== undefined
}

export async function deleteJob(database: Database, lease: Lease): Promise<void> {
  await database.deleteFrom('jobs').where('bizId', '=', lease.jobId).where('leaseBizId', '=', lease.leaseId).execute()
}

/**
 * Ends the job in the transaction of its effects, so that they commit once, also if two replicas run it. Throws an Error if
 * the job has ended before.
 */
export async function completeJob(tx: Tx, jobId: string): Promise<void> {
  const ended = await tx.deleteFrom('jobs').where('bizId', '=', jobId).returning('bizId').executeTakeFirst()
  if (!ended) throw new Error('the job has ended in another process')
}

/** Marks the job as failed if `runAt` is null. */
export async function returnJob(
  database: Database,
  lease: Lease,
  { runAt, failure, attempts }: { runAt: Instant | null; failure: string | null; attempts: number },
): Promise<void> {
  await database
    .updateTable('jobs')
    .set({
      status: runAt === null ? 'FAILED' : 'WAITING',
      leaseBizId: null,
      leaseUntil: null,
      failure,
      attempts,
      ...(runAt !== null && { runAt: toDate(runAt) }),
    })
    .where('bizId', '=', lease.jobId)
    .where('leaseBizId', '=', lease.leaseId)
    .execute()
}

export interface JobCounts {
  due: number
  /** Failed, and wait for the next attempt. */
  retrying: number
  /** Failed for good. */
  failed: number
}

/** Background jobs, without recurring ones. */
export async function countJobs(database: Database, now: Instant): Promise<JobCounts> {
  const at = timestamptz(now)
  return database
    .selectFrom('jobs')
    .select([
      sql<number>`count(*) FILTER (WHERE status = 'WAITING' AND run_at <= ${at})`.as('due'),
      sql<number>`count(*) FILTER (WHERE status = 'WAITING' AND run_at > ${at} AND attempts > 0)`.as('retrying'),
      sql<number>`count(*) FILTER (WHERE status = 'FAILED')`.as('failed'),
    ])
    .where('everyMs', 'is', null)
    .executeTakeFirstOrThrow()
}

export async function deleteFailedJobs(database: Database, before: Instant): Promise<void> {
  await database.deleteFrom('jobs').where('status', '=', 'FAILED').where('runAt', '<', timestamptz(before)).execute()
}

/** No process would ever run the job. */
function assertKnownKind(tx: Tx | Database, kind: string): void {
  const known = knownKinds.get(tx.getExecutor().adapter)
  if (!known || known.includes(kind)) return
  const [domain = ''] = kind.split('.', 1)
  const siblings = known.filter((each) => domainOf(each) === domain)
  throw new Error(`the domain ${domain} has no job ${kind}; its jobs: ${siblings.join(', ') || 'none'}`)
}

function newJob(ids: Ids, kind: string, at: Instant) {
  return {
    bizId: ids.next<'job'>(),
    kind,
    status: 'WAITING' as const,
    runAt: toDate(at),
    leaseBizId: null,
    failure: null,
    createdAt: toDate(at),
  }
}
