import { sql } from 'kysely'
import { containsEmail, type Database, moment, readPage, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type AccountStatus,
  type Instant,
  type Page,
  type PageRequest,
  type Portal,
  toDate,
} from '../../kernel/index.ts'

type Store = Database | Tx

const columns = [
  'biz_id as id',
  'portal',
  'institution_biz_id as institutionId',
  'account_status as status',
  'email',
  'phone',
  'account_name as name',
  'remark',
  'default_language as language',
  'default_timezone as timezone',
  'default_country as country',
  'last_login_at as lastLoginAt',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const

export interface AccountRow {
  id: AccountId
  portal: Portal
  institutionId: string
  status: AccountStatus
  email: string
  phone: string
  name: string
  remark: string | null
  language: string
  timezone: string
  country: string
  lastLoginAt: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

export const accountById = (store: Store, id: AccountId): Promise<AccountRow | undefined> =>
  store.selectFrom('accounts').select(columns).where('biz_id', '=', id).executeTakeFirst()

/**
 * Holds the accounts' rows, in the order of their ids whoever asks: logins, which begin sessions, take turns with what is
 * decided here.
 */
export const lockAccounts = (tx: Tx, ids: readonly AccountId[]): Promise<AccountRow[]> =>
  tx.selectFrom('accounts').select(columns).where('biz_id', 'in', ids).orderBy('biz_id').forNoKeyUpdate().execute()

export const setAccountStatus = (tx: Tx, id: AccountId, status: AccountStatus, at: Instant): Promise<AccountRow> =>
  tx
    .updateTable('accounts')
    .set({ account_status: status, updated_at: toDate(at) })
    .where('biz_id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()

export interface AccountQuery extends PageRequest {
  status?: AccountStatus | undefined
  portal?: Portal | undefined
  /** Part of an address, in any case and width. */
  email?: string | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt' | 'accountEmail'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', updatedAt: 'updated_at', accountEmail: 'email_canonical' } as const

export const listAccounts = (store: Store, query: AccountQuery): Promise<Page<AccountRow>> => {
  let found = store.selectFrom('accounts')
  if (query.status) found = found.where('account_status', '=', query.status)
  if (query.portal) found = found.where('portal', '=', query.portal)
  if (query.email) found = found.where(containsEmail('email_canonical', query.email))
  if (query.from !== undefined) found = found.where('created_at', '>=', moment(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', moment(query.to))
  const ordered = found
    .select(columns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}

/** How many accounts of each portal wait for a decision. The status stands in the text, as the partial index has it. */
export const countAwaiting = async (store: Store): Promise<ReadonlyMap<Portal, number>> => {
  const rows = await store
    .selectFrom('accounts')
    .where(sql<boolean>`account_status = 'PENDING_APPROVAL'`)
    .select(['portal', (eb) => eb.fn.countAll<number>().as('total')])
    .groupBy('portal')
    .execute()
  return new Map(rows.map(({ portal, total }) => [portal, total]))
}
