import { type SqlBool, sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

export interface WhitelistEntry {
  id: string
  address: string
  ipVersion: number
  remark: string | null
  createdAt: Instant
  lastMatchedAt: Instant | null
}

type Store = Database | Tx

export function listWhitelist(store: Store, portal: Portal, accountId: AccountId): Promise<WhitelistEntry[]> {
  return store
    .selectFrom('ip_whitelist_entries')
    .select(['bizId as id', 'address', 'ipVersion', 'remark', 'createdAt', 'lastMatchedAt'])
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .orderBy('place')
    .execute()
}

export interface WhitelistKey {
  portal: Portal
  accountId: AccountId
}

/** The addresses of several accounts. */
export function listWhitelists(
  store: Database,
  keys: readonly WhitelistKey[],
): Promise<(WhitelistKey & Pick<WhitelistEntry, 'id' | 'address' | 'lastMatchedAt'>)[]> {
  const [portals, accounts] = [keys.map(({ portal }) => portal), keys.map(({ accountId }) => accountId)]
  return store
    .selectFrom('ip_whitelist_entries')
    .select(['portal', 'accountBizId as accountId', 'bizId as id', 'address', 'lastMatchedAt'])
    .where(sql<SqlBool>`(portal, account_biz_id) IN (SELECT * FROM unnest(${portals}::text[], ${accounts}::uuid[]))`)
    .execute()
}

export async function replaceEntries(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  entries: { id: string; address: string; ipVersion: number }[],
  at: Instant,
): Promise<void> {
  await tx
    .deleteFrom('ip_whitelist_entries')
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .execute()
  if (entries.length === 0) return
  const rows = entries.map(({ id, address, ipVersion }, place) => ({
    bizId: id,
    portal,
    accountBizId: accountId,
    address,
    ipVersion: ipVersion,
    remark: null,
    place,
    createdAt: toDate(at),
    lastMatchedAt: null,
  }))
  await tx.insertInto('ip_whitelist_entries').values(rows).execute()
}

export async function setWhitelistEnabled(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  enabled: boolean,
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ ipWhitelistEnabled: enabled, updatedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('bizId', '=', accountId)
    .execute()
}

/** Records a match, unless a match later than `notSince` is already recorded. */
export async function recordMatch(
  store: Store,
  { portal, accountId, id }: { portal: Portal; accountId: AccountId; id: string },
  at: Instant,
  notSince: Instant,
): Promise<void> {
  await store
    .updateTable('ip_whitelist_entries')
    .set({ lastMatchedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('bizId', '=', id)
    .where((row) => row.or([row('lastMatchedAt', 'is', null), row('lastMatchedAt', '<=', timestamptz(notSince))]))
    .execute()
}
