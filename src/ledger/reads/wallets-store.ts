import { sql } from 'kysely'
import { type Database, type Param, statement } from '../../database/index.ts'
import {
  type Clock,
  type Instant,
  invalid,
  type Money,
  toDate,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { WalletStatus } from '../contract.ts'

export interface Wallet {
  bizId: WalletId
  workspaceBizId: WorkspaceId
  walletName: string
  currency: string
  status: WalletStatus
  isDefault: boolean
  createdAt: Instant
  updatedAt: Instant
}

const walletsOfWorkspace = statement((store, param: Param<{ workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.workspaceBizId', '=', param('workspace')).orderBy('w.createdAt').orderBy('w.bizId'),
)

export function listWallets(database: Database, workspace: WorkspaceId): Promise<Wallet[]> {
  return walletsOfWorkspace.all(database, { workspace })
}

export interface WalletScope {
  wallet: WalletId
  /** Null for an operator. */
  workspace: WorkspaceId | null
}

const walletById = statement((store, param: Param<{ wallet: WalletId }>) =>
  selectWallets(store).where('w.bizId', '=', param('wallet')),
)
const walletOfWorkspace = statement((store, param: Param<{ wallet: WalletId; workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.bizId', '=', param('wallet')).where('w.workspaceBizId', '=', param('workspace')),
)

export function readWallet(database: Database, { wallet, workspace }: WalletScope): Promise<Wallet | undefined> {
  return workspace === null
    ? walletById.first(database, { wallet })
    : walletOfWorkspace.first(database, { wallet, workspace })
}

export interface DefaultWalletScope {
  workspace: WorkspaceId
  currency: string
}

/** Operations use the default wallet if a request specifies a currency but no wallet. */
export function readDefaultWallet(
  database: Database,
  { workspace, currency }: DefaultWalletScope,
): Promise<Wallet | undefined> {
  return selectWallets(database)
    .where('w.workspaceBizId', '=', workspace)
    .where('w.currency', '=', currency)
    .where('w.isDefault', '=', true)
    .executeTakeFirst()
}

/** A wallet's balance. `available` is `total` minus `held`. */
export interface Balance {
  wallet: WalletId
  total: Money
  held: Money
  available: Money
  /** Counts entries, created holds and ended holds. */
  version: number
}

interface Row {
  currency: string
  balance: bigint
  held: bigint
  version: number
}

export interface BalanceScope {
  wallet: WalletId
  workspace: WorkspaceId
}

export async function readBalance(
  database: Database,
  { wallet, workspace }: BalanceScope,
): Promise<Balance | undefined> {
  const row = await database
    .selectFrom('ledger_accounts')
    .where('bizId', '=', wallet)
    .where('workspaceBizId', '=', workspace)
    .where('kind', '=', 'WALLET')
    .select(['currency', 'balance', 'held', 'version'])
    .executeTakeFirst()
  return row && toBalance(wallet, row)
}

/** In any order. Unknown wallets are missing. */
export async function listBalances(
  database: Database,
  { wallets, workspace }: { wallets: readonly WalletId[]; workspace: WorkspaceId },
): Promise<Balance[]> {
  // SQL knows no empty list.
  if (wallets.length === 0) return []
  const rows = await database
    .selectFrom('ledger_accounts')
    .where('bizId', 'in', wallets)
    .where('workspaceBizId', '=', workspace)
    .where('kind', '=', 'WALLET')
    .select(['bizId', 'currency', 'balance', 'held', 'version'])
    .execute()
  return rows.map((row) => toBalance(row.bizId, row))
}

export interface PastBalance {
  balance: Balance
  /** The requested instant, or an earlier one up to which the past no longer changes. */
  asOf: Instant
}

export async function readBalanceAt(
  { database, clock, usesDatabaseClock = false }: { database: Database; clock: Clock; usesDatabaseClock?: boolean },
  { wallet, workspace }: BalanceScope,
  instant: Instant,
): Promise<PastBalance | undefined> {
  const settled = usesDatabaseClock ? await readSettled(database, { wallet, workspace }) : clock.now()
  const asOf = settled < instant ? settled : instant
  const at = toDate(asOf)
  const { rows } = await sql<Row & { isArchived: boolean }>`
    SELECT a.currency, coalesce(e.balance_after, b.balance, 0) AS balance, h.held,
           coalesce(e.sequence, b.sequence, 0) + h.changes AS version, coalesce(b.last_entry_at > ${at}, false) AS "isArchived"
      FROM ledger_accounts a LEFT JOIN ledger_archived_balances b ON b.account_biz_id = a.biz_id
      LEFT JOIN LATERAL (
        SELECT balance_after, sequence FROM ledger_entries
         WHERE account_biz_id = a.biz_id AND created_at <= ${at} ORDER BY created_at DESC, sequence DESC LIMIT 1) e ON true
     CROSS JOIN LATERAL (
        SELECT coalesce(sum(amount) FILTER (WHERE ended_at IS NULL OR ended_at > ${at}), 0) AS held,
               count(*) + count(ended_at) FILTER (WHERE ended_at <= ${at}) AS changes
          FROM ledger_holds WHERE account_biz_id = a.biz_id AND created_at <= ${at}) h
     WHERE a.biz_id = ${wallet} AND a.workspace_biz_id = ${workspace} AND a.kind = 'WALLET'`.execute(database)
  if (rows[0]?.isArchived) throw invalid('at', 'the entries of that time are archived')
  return rows[0] && { balance: toBalance(wallet, rows[0]), asOf }
}

/** Returns the end of the settled past. */
async function readSettled(database: Database, { wallet, workspace }: BalanceScope): Promise<Instant> {
  const { rows } = await sql<{ settled: Instant }>`
    SELECT ledger_settled(${wallet}::uuid, ${workspace}::uuid) AS settled`.execute(database)
  const [row] = rows
  if (!row) throw new Error('ledger_settled returned no row')
  return row.settled
}

function selectWallets(store: Database) {
  return store
    .selectFrom('wallets as w')
    .innerJoin('ledger_accounts as a', (join) =>
      join.onRef('a.bizId', '=', 'w.bizId').onRef('a.workspaceBizId', '=', 'w.workspaceBizId'),
    )
    .select((eb) => [
      'w.bizId',
      'w.workspaceBizId',
      'w.walletName',
      'w.currency',
      'a.status',
      'w.isDefault',
      'w.createdAt',
      eb.fn<Instant>('greatest', ['w.updatedAt', 'a.updatedAt']).as('updatedAt'),
    ])
}

function toBalance(wallet: WalletId, { currency, balance, held, version }: Row): Balance {
  return {
    wallet,
    total: { minor: balance, currency },
    held: { minor: held, currency },
    available: { minor: balance - held, currency },
    version,
  }
}
