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
    .select([
      'biz_id as id',
      'address',
      'ip_version as ipVersion',
      'remark',
      'created_at as createdAt',
      'last_matched_at as lastMatchedAt',
    ])
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .orderBy('place')
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
    .where('account_biz_id', '=', accountId)
    .execute()
  if (entries.length === 0) return
  const rows = entries.map(({ id, address, ipVersion }, place) => ({
    biz_id: id,
    portal,
    account_biz_id: accountId,
    address,
    ip_version: ipVersion,
    remark: null,
    place,
    created_at: toDate(at),
    last_matched_at: null,
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
    .set({ ip_whitelist_enabled: enabled, updated_at: toDate(at) })
    .where('portal', '=', portal)
    .where('biz_id', '=', accountId)
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
    .set({ last_matched_at: toDate(at) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('biz_id', '=', id)
    .where((row) => row.or([row('last_matched_at', 'is', null), row('last_matched_at', '<=', timestamptz(notSince))]))
    .execute()
}
