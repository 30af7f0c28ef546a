import type { Database } from '../../database/index.ts'
import { type Instant, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import type { WalletStatus } from '../contract.ts'

export interface NewWallet {
  bizId: WalletId
  workspaceBizId: WorkspaceId
  walletName: string
  currency: string
  isDefault: boolean
  at: Instant
}

/** Requires a transaction, because it inserts two rows. */
export async function insertWallet(tx: Database, wallet: NewWallet): Promise<void> {
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

export interface WalletStatusChange {
  wallet: WalletId
  from: WalletStatus
  to: WalletStatus
  at: Instant
}

export async function changeWalletStatus(
  database: Database,
  { wallet, from, to, at }: WalletStatusChange,
): Promise<boolean> {
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
