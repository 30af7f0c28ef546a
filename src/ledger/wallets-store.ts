import { type Database, type Given, statement } from '../database/index.ts'
import { type Instant, toDate, type WalletId, type WorkspaceId } from '../kernel/index.ts'
import type { WalletStatus } from './contract.ts'

/** A wallet as its workspace knows it; its money is told by balances-store.ts. */
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

export interface NewWallet {
  bizId: WalletId
  workspaceBizId: WorkspaceId
  walletName: string
  currency: string
  isDefault: boolean
  at: Instant
}

/** A wallet is an account of the book and a name for it, under one id. Run inside a transaction. */
export const insertWallet = async (tx: Database, wallet: NewWallet): Promise<void> => {
  const at = toDate(wallet.at)
  const shared = {
    biz_id: wallet.bizId,
    workspace_biz_id: wallet.workspaceBizId,
    currency: wallet.currency,
    created_at: at,
    updated_at: at,
  }
  await tx
    .insertInto('ledger_accounts')
    .values({ ...shared, kind: 'WALLET' })
    .execute()
  await tx
    .insertInto('wallets')
    .values({ ...shared, wallet_name: wallet.walletName, is_default: wallet.isDefault })
    .execute()
}

const selectWallets = (store: Database) =>
  store
    .selectFrom('wallets as w')
    .innerJoin('ledger_accounts as a', (join) =>
      join.onRef('a.biz_id', '=', 'w.biz_id').onRef('a.workspace_biz_id', '=', 'w.workspace_biz_id'),
    )
    .select((eb) => [
      'w.biz_id as bizId',
      'w.workspace_biz_id as workspaceBizId',
      'w.wallet_name as walletName',
      'w.currency',
      'a.status',
      'w.is_default as isDefault',
      'w.created_at as createdAt',
      eb.fn<Instant>('greatest', ['w.updated_at', 'a.updated_at']).as('updatedAt'),
    ])

const inOrder = statement((store, given: Given<{ workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.workspace_biz_id', '=', given('workspace')).orderBy('w.created_at').orderBy('w.biz_id'),
)

export const listWallets = (database: Database, workspace: WorkspaceId): Promise<Wallet[]> =>
  inOrder.all(database, { workspace })

export interface WalletScope {
  wallet: WalletId
  /** Null lets an operator reach any workspace's wallet. */
  workspace: WorkspaceId | null
}

const anybodys = statement((store, given: Given<{ wallet: WalletId }>) =>
  selectWallets(store).where('w.biz_id', '=', given('wallet')),
)
const own = statement((store, given: Given<{ wallet: WalletId; workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.biz_id', '=', given('wallet')).where('w.workspace_biz_id', '=', given('workspace')),
)

/** Undefined for an unknown wallet and for another workspace's alike. */
export const readWallet = (database: Database, { wallet, workspace }: WalletScope): Promise<Wallet | undefined> =>
  workspace === null ? anybodys.first(database, { wallet }) : own.first(database, { wallet, workspace })

/** The wallet that a workspace uses for a currency where none is named. */
export const readDefaultWallet = (
  database: Database,
  { workspace, currency }: { workspace: WorkspaceId; currency: string },
): Promise<Wallet | undefined> =>
  selectWallets(database)
    .where('w.workspace_biz_id', '=', workspace)
    .where('w.currency', '=', currency)
    .where('w.is_default', '=', true)
    .executeTakeFirst()

/** Moves a wallet from one status to another; false when it is not in the first one, or not there, or closes with money. */
export const moveWallet = async (
  database: Database,
  { wallet, from, to, at }: { wallet: WalletId; from: Wallet['status']; to: Wallet['status']; at: Instant },
): Promise<boolean> => {
  const { numUpdatedRows } = await database
    .updateTable('ledger_accounts')
    .set((eb) => ({ status: to, updated_at: eb.fn<Date>('greatest', ['updated_at', eb.val(toDate(at))]) }))
    .where('biz_id', '=', wallet)
    .where('kind', '=', 'WALLET')
    .where('status', '=', from)
    .$if(to === 'CLOSED', (found) => found.where('balance', '=', 0n).where('held', '=', 0n))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
