import { type Selectable, sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  addMs,
  type BizId,
  hours,
  type Ids,
  type Instant,
  type Page,
  type PageRequest,
  toDate,
} from '../../kernel/index.ts'
import type { StoredEvent } from '../../platform/events/index.ts'
import { allTypes, type DeliveryStatus, testType } from './contract.ts'
import type { WebhookDeliveriesTable } from './schema.ts'
import { inScope, type Scope, type WebhookId, type WebhookKey } from './store.ts'

/** A statement has at most 65,535 parameters. */
export const maxRows = 1_000

export type DeliveryId = BizId<'webhookDelivery'>

const columns = [
  'bizId',
  'webhookBizId',
  'eventBizId',
  'eventType',
  'deliveryStatus',
  'attempts',
  'nextAttemptAt',
  'lastAttemptAt',
  'responseStatus',
  'responseBody',
  'failure',
  'durationMs',
  'createdAt',
] as const

export type DeliveryRow = Pick<Selectable<WebhookDeliveriesTable>, (typeof columns)[number]>

export interface DeliveryQuery extends PageRequest {
  status: DeliveryStatus | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

export function listDeliveries(
  database: Database,
  { workspaceBizId, bizId }: WebhookKey,
  query: DeliveryQuery,
): Promise<Page<DeliveryRow>> {
  const { status, from, to, sortOrder } = query
  let found = database.selectFrom('webhook_deliveries').where(inScope(workspaceBizId)).where('webhookBizId', '=', bizId)
  if (status !== undefined) found = found.where('deliveryStatus', '=', status)
  if (from !== undefined) found = found.where('createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('createdAt', '<=', timestamptz(to))
  return readPage(found, found.select(columns).orderBy('createdAt', sortOrder).orderBy('bizId', sortOrder), query)
}

interface Match extends WebhookKey {
  event: Pick<StoredEvent, 'id' | 'type'>
}

/** The active webhooks that want each event. */
export async function webhooksFor(tx: Tx, events: readonly StoredEvent[]): Promise<Match[]> {
  const workspaces = [...new Set(events.flatMap(({ workspaceId }) => workspaceId ?? []))]
  const webhooks = await tx
    .selectFrom('webhooks')
    .select(['bizId', 'workspaceBizId', 'eventTypes'])
    .where('webhookStatus', '=', 'ACTIVE')
    .where(sql<boolean>`(workspace_biz_id IS NULL OR workspace_biz_id = ANY (${workspaces}::uuid[]))`)
    .execute()
  return webhooks.flatMap(({ eventTypes, bizId, workspaceBizId }) =>
    events
      .filter(({ type }) => eventTypes.includes(allTypes) || eventTypes.includes(type))
      .filter(({ workspaceId, forOperators }) =>
        workspaceBizId === null ? forOperators : workspaceId === workspaceBizId,
      )
      .map((event) => ({ bizId, workspaceBizId, event })),
  )
}

export async function insertDeliveries(tx: Tx, ids: Ids, matches: readonly Match[], at: Instant): Promise<void> {
  const rows = matches.map(({ bizId, workspaceBizId, event }) => ({
    ...newDelivery(ids, { bizId, workspaceBizId }, at),
    eventBizId: event.id,
    eventType: event.type,
  }))
  for (let from = 0; from < rows.length; from += maxRows)
    await tx
      .insertInto('webhook_deliveries')
      .values(rows.slice(from, from + maxRows))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

export function insertTest(tx: Tx, ids: Ids, webhook: WebhookKey, at: Instant): Promise<DeliveryRow> {
  return tx
    .insertInto('webhook_deliveries')
    .values({
      ...newDelivery(ids, webhook, at),
      eventBizId: ids.next<'event'>(),
      eventType: testType,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Whose webhook a delivery belongs to. */
export function deliveryById(tx: Tx, scope: Scope, id: DeliveryId): Promise<DeliveryRow | undefined> {
  return tx
    .selectFrom('webhook_deliveries')
    .select(columns)
    .where(inScope(scope))
    .where('bizId', '=', id)
    .executeTakeFirst()
}

/** Starts again with all attempts. Returns undefined if the delivery is gone. */
export function resetDelivery(tx: Tx, scope: Scope, id: DeliveryId, at: Instant): Promise<DeliveryRow | undefined> {
  return tx
    .updateTable('webhook_deliveries')
    .set({ deliveryStatus: 'PENDING', attempts: 0, nextAttemptAt: toDate(at) })
    .where(inScope(scope))
    .where('bizId', '=', id)
    .returning(columns)
    .executeTakeFirst()
}

export interface Replay {
  eventTypes: readonly string[]
  since: Instant
}

/** Schedules the events since a time, oldest first. Returns their number, and the time of the last one at the limit. */
export async function replayDeliveries(
  tx: Tx,
  ids: Ids,
  { workspaceBizId, bizId }: WebhookKey,
  { eventTypes, since }: Replay,
  at: Instant,
): Promise<{ scheduled: number; nextSince: Instant | null }> {
  let found = tx
    .selectFrom('events')
    .select(['bizId as id', 'eventType as type', 'position', 'at'])
    .where('at', '>=', timestamptz(since))
  found =
    workspaceBizId === null
      ? found.where('forOperators', '=', true)
      : found.where('workspaceBizId', '=', workspaceBizId)
  if (!eventTypes.includes(allTypes)) found = found.where('eventType', 'in', eventTypes)
  // By time, as `nextSince` continues: an event can have an earlier time than one before it.
  const events = await found.orderBy('at').orderBy('position').limit(maxRows).execute()
  if (events.length > 0)
    await tx
      .insertInto('webhook_deliveries')
      .values(
        events.map((event) => ({
          ...newDelivery(ids, { workspaceBizId, bizId }, at),
          eventBizId: event.id,
          eventType: event.type,
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['webhookBizId', 'eventBizId'])
          .doUpdateSet({ deliveryStatus: 'PENDING', attempts: 0, nextAttemptAt: toDate(at) })
          .where('webhook_deliveries.deliveryStatus', '!=', 'PENDING'),
      )
      .execute()
  return { scheduled: events.length, nextSince: events.length < maxRows ? null : (events.at(-1)?.at ?? null) }
}

/** Returns undefined if the event was deleted. */
export function eventById(database: Database, scope: Scope, id: StoredEvent['id']) {
  return database
    .selectFrom('events')
    .select(['bizId as id', 'eventType as type', 'at', 'subject', 'workspaceBizId as workspaceId', 'data'])
    .where(scope === null ? sql<boolean>`for_operators` : inScope(scope))
    .where('bizId', '=', id)
    .executeTakeFirst()
}

/** The delivery that is due first. */
export function nextDelivery(database: Database, { workspaceBizId, bizId }: WebhookKey, at: Instant) {
  return database
    .selectFrom('webhook_deliveries')
    .select(columns)
    .where(inScope(workspaceBizId))
    .where('webhookBizId', '=', bizId)
    .where('deliveryStatus', '=', 'PENDING')
    .where('nextAttemptAt', '<=', timestamptz(at))
    .orderBy('nextAttemptAt')
    .orderBy('bizId')
    .limit(1)
    .executeTakeFirst()
}

export type Attempt = Pick<
  DeliveryRow,
  'deliveryStatus' | 'failure' | 'responseStatus' | 'responseBody' | 'durationMs'
> & {
  nextAttemptAt: Instant | null
}

/** Records an attempt. Does nothing if the delivery has changed meanwhile. */
export async function recordAttempt(
  tx: Tx,
  scope: Scope,
  { bizId, attempts }: DeliveryRow,
  { nextAttemptAt, ...attempt }: Attempt,
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({
      ...attempt,
      attempts: attempts + 1,
      lastAttemptAt: toDate(at),
      nextAttemptAt: nextAttemptAt === null ? null : toDate(nextAttemptAt),
    })
    .where(inScope(scope))
    .where('bizId', '=', bizId)
    .where('deliveryStatus', '=', 'PENDING')
    .where('attempts', '=', attempts)
    .execute()
}

/** Records what is not sent at all. */
export async function withhold(
  database: Database,
  scope: Scope,
  { bizId }: DeliveryRow,
  failure: string | null,
): Promise<void> {
  await database
    .updateTable('webhook_deliveries')
    .set({ deliveryStatus: failure === null ? 'WITHHELD' : 'FAILED', failure, nextAttemptAt: null })
    .where(inScope(scope))
    .where('bizId', '=', bizId)
    .where('deliveryStatus', '=', 'PENDING')
    .execute()
}

/** How long a job that was added may wait before another one is. It can be lost with its store's replica. */
const lostJobMs = 60_000

/** Marks webhooks as queued. Returns those that have no job yet. */
export function claimQueue(tx: Tx, ids: readonly WebhookId[], at: Instant) {
  return tx
    .updateTable('webhooks')
    .set({ queuedAt: toDate(at) })
    .where('bizId', 'in', ids)
    .where(sql<boolean>`(queued_at IS NULL OR queued_at < ${timestamptz(addMs(at, -lostJobMs))})`)
    .returning(['bizId', 'workspaceBizId', sql<boolean>`coalesce(slow_until > ${timestamptz(at)}, false)`.as('isSlow')])
    .execute()
}

/** Webhooks with due deliveries that no job is sending. */
export async function dueWebhooks(tx: Tx, at: Instant, limit: number): Promise<WebhookId[]> {
  const found = await sql<{ id: WebhookId }>`
    SELECT DISTINCT d.webhook_biz_id AS id FROM webhook_deliveries d JOIN webhooks w ON w.biz_id = d.webhook_biz_id
    WHERE d.delivery_status = 'PENDING' AND d.next_attempt_at <= ${timestamptz(at)}
      AND (w.run_until IS NULL OR w.run_until <= ${timestamptz(at)})
      AND (w.queued_at IS NULL OR w.queued_at < ${timestamptz(addMs(at, -lostJobMs))})
    LIMIT ${limit}`.execute(tx)
  return found.rows.map(({ id }) => id)
}

/** As the process has written it last. If its lease of the job ended, another process has changed `until`. */
export interface HeldRun {
  jobId: string
  until: Instant
}

/** Returns false while another job sends. A job that starts again continues. */
export async function startRun(
  database: Database,
  { workspaceBizId, bizId }: WebhookKey,
  { jobId, until }: HeldRun,
  at: Instant,
): Promise<boolean> {
  const started = await database
    .updateTable('webhooks')
    .set({ runBizId: jobId, runUntil: toDate(until), queuedAt: null })
    .where(inScope(workspaceBizId))
    .where('bizId', '=', bizId)
    .where(sql<boolean>`(run_until IS NULL OR run_until <= ${timestamptz(at)} OR run_biz_id = ${jobId}::uuid)`)
    .returning('bizId')
    .executeTakeFirst()
  if (started) return true
  await database
    .updateTable('webhooks')
    .set({ queuedAt: null })
    .where(inScope(workspaceBizId))
    .where('bizId', '=', bizId)
    .execute()
  return false
}

/** Extends the run, or ends it with null. Returns false if another process has taken it. */
export async function extendRun(
  database: Database,
  { workspaceBizId, bizId }: WebhookKey,
  held: HeldRun,
  until: Instant | null,
): Promise<boolean> {
  const extended = await database
    .updateTable('webhooks')
    .set(until === null ? { runBizId: null, runUntil: null } : { runUntil: toDate(until) })
    .where(inScope(workspaceBizId))
    .where('bizId', '=', bizId)
    .where('runBizId', '=', held.jobId)
    .where('runUntil', '=', timestamptz(held.until))
    .returning('bizId')
    .executeTakeFirst()
  return extended !== undefined
}

/** A receiver that is slow now and then could otherwise occupy workers that fast ones need. */
const slowForMs = hours(1)

/** Records whether a webhook works. Returns the first failure since the last success. */
export async function recordHealth(
  tx: Tx,
  { workspaceBizId, bizId }: WebhookKey,
  { isSuccess, isSlow }: { isSuccess: boolean; isSlow: boolean },
  at: Instant,
): Promise<Instant | null> {
  const { failingSince } = await tx
    .updateTable('webhooks')
    .set({
      ...(isSlow && { slowUntil: toDate(addMs(at, slowForMs)) }),
      failingSince: isSuccess ? null : sql<Date>`coalesce(failing_since, ${timestamptz(at)})`,
    })
    .where(inScope(workspaceBizId))
    .where('bizId', '=', bizId)
    .returning('failingSince')
    .executeTakeFirstOrThrow()
  return failingSince
}

/** Number of deliveries that wait, of all webhooks. */
export async function countWaiting(database: Database): Promise<number> {
  const { total } = await database
    .selectFrom('webhook_deliveries')
    .where('deliveryStatus', '=', 'PENDING')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

export async function deleteDeliveries(database: Database, before: Instant, limit: number): Promise<boolean> {
  const old = database
    .selectFrom('webhook_deliveries')
    .select('bizId')
    .where('createdAt', '<', timestamptz(before))
    .where('deliveryStatus', '!=', 'PENDING')
    .limit(limit)
  const deleted = await database.deleteFrom('webhook_deliveries').where('bizId', 'in', old).returning('bizId').execute()
  return deleted.length === limit
}

function newDelivery(ids: Ids, { workspaceBizId, bizId }: WebhookKey, at: Instant) {
  return {
    bizId: ids.next<'webhookDelivery'>(),
    webhookBizId: bizId,
    workspaceBizId,
    deliveryStatus: 'PENDING' as const,
    nextAttemptAt: toDate(at),
    responseStatus: null,
    responseBody: null,
    failure: null,
    durationMs: null,
    createdAt: toDate(at),
  }
}
