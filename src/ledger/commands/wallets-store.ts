import type { Database } from '../../database/index.ts'
import { type Instant, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import type { WalletStatus } from '../contract.ts'

/** A wallet to open. */
export interface NewWallet {
  bizId: WalletId
  workspaceBizId: WorkspaceId
  walletName: string
  currency: string
  isDefault: boolean
  at: Instant
}

/**
 * Opens a wallet. Inserts a ledger account and a wallet row with the same id. Call this function inside a transaction.
 */
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

/** A change of a wallet's status. */
export interface WalletStatusChange {
  wallet: WalletId
  from: WalletStatus
  to: WalletStatus
  at: Instant
}

/**
 * Changes a wallet's status from `from` to `to`. Returns false if the wallet does not exist or has another status than
 * `from`. Also returns false if `to` is CLOSED and the wallet has funds.
 */
export const changeWalletStatus = async (
  database: Database,
  { wallet, from, to, at }: WalletStatusChange,
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
