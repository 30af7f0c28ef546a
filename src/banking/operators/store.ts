import { sql } from 'kysely'
import type { ProfileRow } from '../../contract/shared-schemas.ts'
import {
  containsEmail,
  containsText,
  type Database,
  findEmail,
  readByKeys,
  readPage,
  type Tx,
  timestamptz,
} from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type AuditOutcome,
  bizId,
  type Instant,
  isBizId,
  type Page,
  type PageRequest,
  type Portal,
  toDate,
} from '../../kernel/index.ts'
import { canonicalReference } from '../../platform/identifiers/index.ts'

type Store = Database | Tx

const accountColumns = [
  'personKey',
  'bizId as id',
  'portal',
  'institutionBizId as institutionId',
  'accountStatus as status',
  'email',
  'phone',
  'accountName as name',
  'remark',
  'defaultLanguage as language',
  'defaultTimezone as timezone',
  'defaultCountry as country',
  'lastLoginAt',
  'createdAt',
  'updatedAt',
] as const

export interface AccountRow extends ProfileRow {
  /** Equal for all accounts of a person. */
  personKey: string
  lastLoginAt: Instant | null
}

export function accountById(store: Store, id: AccountId): Promise<AccountRow | undefined> {
  return store.selectFrom('accounts').select(accountColumns).where('bizId', '=', id).executeTakeFirst()
}

/** Locks in the order of ids. Sign-ins wait for the lock. */
export function lockAccounts(tx: Tx, ids: readonly AccountId[]): Promise<AccountRow[]> {
  return tx
    .selectFrom('accounts')
    .select(accountColumns)
    .where('bizId', 'in', ids)
    .orderBy('bizId')
    .forNoKeyUpdate()
    .execute()
}

/** The active operators who can manage operators. */
export async function activeManagers(store: Store): Promise<AccountId[]> {
  const managers = await store
    .selectFrom('accounts')
    .select('bizId')
    .where('portal', '=', 'SYSTEM')
    .where('accountStatus', '=', 'ACTIVE')
    .where(sql<boolean>`'operator:manage' = ANY (operator_permissions)`)
    .execute()
  return managers.map(({ bizId }) => bizId)
}

export function setAccountStatus(tx: Tx, id: AccountId, status: AccountStatus, at: Instant): Promise<AccountRow> {
  return tx
    .updateTable('accounts')
    .set({ accountStatus: status, updatedAt: toDate(at) })
    .where('bizId', '=', id)
    .returning(accountColumns)
    .executeTakeFirstOrThrow()
}

export interface AccountQuery extends PageRequest {
  status?: AccountStatus | undefined
  portal?: Portal | undefined
  /** Part of an address. Case and full-width forms are ignored. */
  email?: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'accountEmail'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'createdAt', updatedAt: 'updatedAt', accountEmail: 'emailCanonical' } as const

export async function listAccounts(store: Store, query: AccountQuery): Promise<Page<AccountRow>> {
  let found = store.selectFrom('accounts')
  if (query.status) found = found.where('accountStatus', '=', query.status)
  if (query.portal) found = found.where('portal', '=', query.portal)
  if (query.email)
    found = found.where(await findEmail(store, { table: 'accounts', column: 'emailCanonical', text: query.email }))
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  const sortColumn = sortColumns[query.sortBy]
  const keys = found.select('bizId').orderBy(sortColumn, query.sortOrder).orderBy('bizId', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    store
      .selectFrom('accounts')
      .select(accountColumns)
      .where('bizId', 'in', page)
      .orderBy(sortColumn, query.sortOrder)
      .orderBy('bizId', query.sortOrder),
  )
  return readPage(found, sorted, query)
}

export interface AccountSearch {
  /** An id, a phone number, or part of a name or an address. */
  text: string
  portal: Portal | undefined
  limit: number
}

/** Newest first. For the command line. */
export function findAccounts(store: Store, { text, portal, limit }: AccountSearch): Promise<AccountRow[]> {
  const phone = text.replace(/[\s().-]/g, '')
  let found = store.selectFrom('accounts').select(accountColumns)
  found = isBizId(text)
    ? found.where('bizId', '=', bizId<'account'>(text))
    : found.where(({ eb, or }) =>
        or([
          containsEmail('emailCanonical', text),
          containsText('accountName', text),
          ...(/^\+?\d{5,}$/.test(phone) ? [eb('phone', '=', phone)] : []),
        ]),
      )
  if (portal) found = found.where('portal', '=', portal)
  return found.orderBy('createdAt', 'desc').orderBy('bizId', 'desc').limit(limit).execute()
}

/** The oldest first. For the command line. */
export function listOperatorAccounts(store: Store, limit: number) {
  return store
    .selectFrom('accounts')
    .select(accountColumns)
    .select('operatorPermissions as permissions')
    .where('portal', '=', 'SYSTEM')
    .orderBy('createdAt')
    .orderBy('bizId')
    .limit(limit)
    .execute()
}

/** Accounts that wait for approval. `since` is the registration of the oldest one. */
export interface PendingApprovals {
  accounts: number
  since: Instant
}

/** The status is a literal, so that the query plan uses the partial index. */
export async function countPendingApprovals(store: Store): Promise<ReadonlyMap<Portal, PendingApprovals>> {
  const rows = await store
    .selectFrom('accounts')
    .where(sql<boolean>`account_status = 'PENDING_APPROVAL'`)
    .select(['portal', (eb) => eb.fn.countAll<number>().as('accounts'), (eb) => eb.fn.min('createdAt').as('since')])
    .groupBy('portal')
    .execute()
  return new Map(rows.map(({ portal, ...pending }) => [portal, pending]))
}

const auditColumns = [
  'bizId as id',
  'sequence',
  'at',
  'portal',
  'actorBizId as actorId',
  'workspaceBizId as workspaceId',
  'action',
  'targetBizId as targetId',
  'outcome',
  'requestId',
  'clientIp',
  'detail',
  'previousHash',
  'hash',
] as const

export interface AuditQuery extends PageRequest {
  actorId?: string | undefined
  workspaceId?: string | undefined
  action?: string | undefined
  targetId?: string | undefined
  requestId?: string | undefined
  /** In canonical form. */
  clientIp?: string | undefined
  /** This and the references are those of the target, if it is an order. */
  orderNo?: string | undefined
  clientReference?: string | undefined
  externalReference?: string | undefined
  outcome?: AuditOutcome | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

export function listAuditLog(database: Database, query: AuditQuery) {
  const found = findAudit(database, query)
  const keys = found.select('bizId').orderBy('at', query.sortOrder).orderBy('bizId', query.sortOrder)
  const sorted = readByKeys(keys, (page) =>
    database
      .selectFrom('audit_log')
      .select(auditColumns)
      .where('bizId', 'in', page)
      .orderBy('at', query.sortOrder)
      .orderBy('bizId', query.sortOrder),
  )
  return readPage(found, sorted, query)
}

export type AuditRow = Awaited<ReturnType<typeof listAuditLog>>['items'][number]

function findAudit(database: Database, query: AuditQuery) {
  let found = database.selectFrom('audit_log')
  if (query.actorId) found = found.where('actorBizId', '=', query.actorId)
  if (query.workspaceId) found = found.where('workspaceBizId', '=', query.workspaceId)
  if (query.action) found = found.where('action', '=', query.action)
  if (query.targetId) found = found.where('targetBizId', '=', query.targetId)
  if (query.requestId) found = found.where('requestId', '=', query.requestId)
  if (query.clientIp) found = found.where('clientIp', '=', query.clientIp)
  if (query.orderNo ?? query.clientReference ?? query.externalReference)
    // An array, because PostgreSQL would join a subquery by reading the log from its end.
    found = found.where(sql<boolean>`target_biz_id = ANY (ARRAY(${selectOrders(database, query)}))`)
  if (query.outcome) found = found.where('outcome', '=', query.outcome)
  if (query.from !== undefined) found = found.where('at', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('at', '<=', timestamptz(query.to))
  return found
}

/** Of any workspace, because only operators read the log. */
function selectOrders(database: Database, { orderNo, clientReference, externalReference }: AuditQuery) {
  let found = database.selectFrom('orders').select(sql<string>`biz_id::text`.as('id'))
  if (orderNo) found = found.where('orderNo', '=', orderNo)
  if (clientReference) found = found.where(sql<boolean>`data->>'clientReference' = ${clientReference}`)
  if (!externalReference) return found
  const byText = found.where(sql<boolean>`data->>'externalReference' = ${externalReference}`)
  const key = canonicalReference(externalReference)
  return key === '' ? byText : byText.union(found.where(sql<boolean>`data->>'referenceKey' = ${key}`))
}
