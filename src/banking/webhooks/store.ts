import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { type Database, isSuspect, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  type Page,
  type PageRequest,
  type RecoveredAccount,
  toDate,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { WebhookStatus } from './contract.ts'
import type { WebhooksTable } from './schema.ts'

export type WebhookId = BizId<'webhook'>

/** A workspace, or null for the webhooks of the deployment. */
export type Scope = WorkspaceId | null

const columns = [
  'bizId',
  'workspaceBizId',
  'url',
  'description',
  'eventTypes',
  'webhookStatus',
  'createdBy',
  'actsFor',
  'operatorBizId',
  'failingSince',
  'previousUntil',
  'createdAt',
  'updatedAt',
] as const

export type WebhookRow = Pick<Selectable<WebhooksTable>, (typeof columns)[number]>
export type WebhookKey = Pick<WebhookRow, 'workspaceBizId' | 'bizId'>

export function inScope(scope: Scope, table?: string): RawBuilder<SqlBool> {
  const column = sql.ref(table === undefined ? 'workspaceBizId' : `${table}.workspaceBizId`)
  return scope === null ? sql<SqlBool>`${column} IS NULL` : sql<SqlBool>`${column} = ${scope}::uuid`
}

/** Deleted webhooks are not found. */
export function webhookById(store: Database | Tx, scope: Scope, id: WebhookId): Promise<WebhookRow | undefined> {
  return store
    .selectFrom('webhooks')
    .select(columns)
    .where(inScope(scope))
    .where('bizId', '=', id)
    .where('webhookStatus', '!=', 'DELETED')
    .executeTakeFirst()
}

/** For operators. Returns undefined for an unknown webhook. */
export async function scopeOf(store: Database | Tx, id: WebhookId): Promise<Scope | undefined> {
  const found = store.selectFrom('webhooks').select('workspaceBizId').where('bizId', '=', id)
  return (await found.executeTakeFirst())?.workspaceBizId
}

/** Does not count deleted webhooks. */
export async function countWebhooks(tx: Tx, scope: Scope): Promise<number> {
  const { total } = await tx
    .selectFrom('webhooks')
    .where(inScope(scope))
    .where('webhookStatus', '!=', 'DELETED')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

export interface NewWebhook extends WebhookKey, Pick<WebhookRow, 'url' | 'description' | 'eventTypes'> {
  secretSealed: Uint8Array
}

/** Who decides where the data of a webhook goes. */
export interface Decider {
  accountId: AccountId
  byPasskey: boolean
}

export function insertWebhook(
  tx: Tx,
  webhook: NewWebhook,
  { accountId: by, byPasskey }: Decider,
  at: Instant,
): Promise<WebhookRow> {
  const now = toDate(at)
  return tx
    .insertInto('webhooks')
    .values({
      ...webhook,
      webhookStatus: 'ACTIVE',
      previousSealed: null,
      createdBy: by,
      urlSetBy: by,
      urlSetAt: now,
      actsFor: by,
      actsSince: now,
      byPasskey,
      operatorBizId: null,
      runBizId: null,
      createdAt: now,
      updatedAt: now,
    })
    .returning(columns)
    .executeTakeFirstOrThrow()
}

export interface WebhookChanges {
  url?: string | undefined
  description?: string | undefined
  eventTypes?: string[] | undefined
  webhookStatus?: WebhookStatus
  operatorBizId?: AccountId | null
  failingSince?: null
  secret?: { sealed: Uint8Array; previousUntil: Instant }
  /** The person for whom the webhook acts from now on. */
  actsFor?: Decider
}

export function changeWebhook(
  tx: Tx,
  { workspaceBizId, bizId }: WebhookKey,
  { secret, actsFor, url, ...changes }: WebhookChanges,
  at: Instant,
): Promise<WebhookRow> {
  const now = toDate(at)
  return tx
    .updateTable('webhooks')
    .set({
      ...changes,
      updatedAt: now,
      ...(url !== undefined && { url }),
      ...(url !== undefined && actsFor && { urlSetBy: actsFor.accountId, urlSetAt: now }),
      ...(actsFor && {
        actsFor: actsFor.accountId,
        actsSince: now,
        byPasskey: url === undefined ? sql<boolean>`by_passkey AND ${actsFor.byPasskey}` : actsFor.byPasskey,
      }),
      ...(secret && {
        previousSealed: sql<Uint8Array>`secret_sealed`,
        previousUntil: toDate(secret.previousUntil),
        secretSealed: secret.sealed,
      }),
    })
    .where(inScope(workspaceBizId))
    .where('bizId', '=', bizId)
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/**
 * Covers all workspaces and the deployment. Suspends what acts for the account or has its URL, and what acts for a suspect
 * of the recovery or has a suspect's URL.
 */
export async function suspendWebhooksOf(tx: Tx, recovery: RecoveredAccount): Promise<number> {
  const { accountId, at } = recovery
  const suspected = [isSuspect(recovery, 'actsFor', 'actsSince'), isSuspect(recovery, 'urlSetBy', 'urlSetAt')]
  const suspended = await tx
    .updateTable('webhooks')
    .set({ webhookStatus: 'SUSPENDED', updatedAt: toDate(at) })
    .where(({ or, eb }) => or([eb('actsFor', '=', accountId), eb('urlSetBy', '=', accountId), ...suspected]))
    .where('webhookStatus', 'in', ['ACTIVE', 'DISABLED', 'FAILED'])
    .returning('bizId')
    .execute()
  return suspended.length
}

export interface WebhookQuery extends PageRequest {
  /** Only operators may leave it undefined. */
  scope: Scope | undefined
  id?: WebhookId | undefined
  /** If undefined, selects every status except DELETED. */
  status: WebhookStatus | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

export function listWebhooks(database: Database, query: WebhookQuery): Promise<Page<WebhookRow>> {
  const { scope, id, status, from, to, sortBy, sortOrder } = query
  let found = database.selectFrom('webhooks')
  if (id !== undefined) found = found.where('bizId', '=', id)
  if (scope !== undefined) found = found.where(inScope(scope))
  found =
    status === undefined ? found.where('webhookStatus', '!=', 'DELETED') : found.where('webhookStatus', '=', status)
  if (from !== undefined) found = found.where('createdAt', '>=', timestamptz(from))
  if (to !== undefined) found = found.where('createdAt', '<=', timestamptz(to))
  return readPage(found, found.select(columns).orderBy(sortBy, sortOrder).orderBy('bizId', sortOrder), query)
}

/** A webhook as its job sends it, with the account for which it acts, and the one that set its URL. */
export async function webhookToSend(database: Database, scope: Scope, id: WebhookId) {
  const rows = await database
    .selectFrom('webhooks as w')
    .innerJoin('accounts as a', (join) => join.on(sql<SqlBool>`a.biz_id = ANY (ARRAY[w.acts_for, w.url_set_by])`))
    .where(inScope(scope, 'w'))
    .where('w.bizId', '=', id)
    .select([
      'w.bizId',
      'w.workspaceBizId',
      'w.url',
      'w.webhookStatus',
      'w.eventTypes',
      'w.secretSealed',
      'w.previousSealed',
      'w.previousUntil',
      'w.failingSince',
      'w.byPasskey',
      'a.bizId as accountId',
      'a.portal',
      'a.accountStatus',
      'a.operatorPermissions',
    ])
    .execute()
  const [webhook] = rows
  return webhook && { ...webhook, readers: rows }
}

export type WebhookToSend = NonNullable<Awaited<ReturnType<typeof webhookToSend>>>

/** Number of webhooks by status, without deleted ones. */
export function countByStatus(database: Database): Promise<{ status: WebhookStatus; total: number }[]> {
  return database
    .selectFrom('webhooks')
    .where('webhookStatus', '!=', 'DELETED')
    .groupBy('webhookStatus')
    .select((eb) => ['webhookStatus as status', eb.fn.countAll<number>().as('total')])
    .execute()
}

/** The active operators who manage the webhooks of the deployment. */
export async function operatorsWhoManage(tx: Tx): Promise<AccountId[]> {
  const operators = await tx
    .selectFrom('accounts')
    .select('bizId')
    .where('portal', '=', 'SYSTEM')
    .where('accountStatus', '=', 'ACTIVE')
    .where(sql<boolean>`'webhook:manage' = ANY (operator_permissions)`)
    .orderBy('bizId')
    .execute()
  return operators.map(({ bizId }) => bizId)
}
