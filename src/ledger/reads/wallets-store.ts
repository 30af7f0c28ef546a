import { type Database, type Param, statement } from '../../database/index.ts'
import type { Instant, WalletId, WorkspaceId } from '../../kernel/index.ts'
import type { WalletStatus } from '../contract.ts'

/** A wallet without its balance, see balances-store.ts. */
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

const walletsOfWorkspace = statement((store, given: Param<{ workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.workspace_biz_id', '=', given('workspace')).orderBy('w.created_at').orderBy('w.biz_id'),
)

/** A workspace's wallets, oldest first. */
export const listWallets = (database: Database, workspace: WorkspaceId): Promise<Wallet[]> =>
  walletsOfWorkspace.all(database, { workspace })

export interface WalletScope {
  wallet: WalletId
  /** Null for an operator, who reaches wallets of every workspace. */
  workspace: WorkspaceId | null
}

const walletById = statement((store, given: Param<{ wallet: WalletId }>) =>
  selectWallets(store).where('w.biz_id', '=', given('wallet')),
)
const walletOfWorkspace = statement((store, given: Param<{ wallet: WalletId; workspace: WorkspaceId }>) =>
  selectWallets(store).where('w.biz_id', '=', given('wallet')).where('w.workspace_biz_id', '=', given('workspace')),
)

/** Undefined for an unknown wallet and for one of another workspace. */
export const readWallet = (database: Database, { wallet, workspace }: WalletScope): Promise<Wallet | undefined> =>
  workspace === null ? walletById.first(database, { wallet }) : walletOfWorkspace.first(database, { wallet, workspace })

export interface DefaultWalletScope {
  workspace: WorkspaceId
  currency: string
}

/** The wallet that a workspace uses if a request names only a currency. */
export const readDefaultWallet = (
  database: Database,
  { workspace, currency }: DefaultWalletScope,
): Promise<Wallet | undefined> =>
  selectWallets(database)
    .where('w.workspace_biz_id', '=', workspace)
    .where('w.currency', '=', currency)
    .where('w.is_default', '=', true)
    .executeTakeFirst()
