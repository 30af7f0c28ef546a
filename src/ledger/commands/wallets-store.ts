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

/** Requires a transaction, because it inserts two rows. A new default wallet replaces a closed one. */
export async function insertWallet(tx: Database, wallet: NewWallet): Promise<void> {
  const at = toDate(wallet.at)
  if (wallet.isDefault) await clearClosedDefault(tx, wallet)
  const shared = {
    bizId: wallet.bizId,
    workspaceBizId: wallet.workspaceBizId,
    currency: wallet.currency,
    createdAt: at,
    updatedAt: at,
  }
  await tx
    .insertInto('ledger_accounts')
    .values({ ...shared, kind: 'WALLET' })
    .execute()
  await tx
    .insertInto('wallets')
    .values({ ...shared, walletName: wallet.walletName, isDefault: wallet.isDefault })
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
    .set((eb) => ({ status: to, updatedAt: eb.fn<Date>('greatest', ['updatedAt', eb.val(toDate(at))]) }))
    .where('bizId', '=', wallet)
    .where('kind', '=', 'WALLET')
    .where('status', '=', from)
    .$if(to === 'CLOSED', (found) => found.where('balance', '=', 0n).where('held', '=', 0n))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function clearClosedDefault(tx: Database, { workspaceBizId, currency, at }: NewWallet): Promise<unknown> {
  return tx
    .updateTable('wallets')
    .set((eb) => ({ isDefault: false, updatedAt: eb.fn<Date>('greatest', ['updatedAt', eb.val(toDate(at))]) }))
    .where('workspaceBizId', '=', workspaceBizId)
    .where('currency', '=', currency)
    .where('isDefault', '=', true)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('ledger_accounts as a')
          .select('a.bizId')
          .whereRef('a.bizId', '=', 'wallets.bizId')
          .where('a.workspaceBizId', '=', workspaceBizId)
          .where('a.status', '=', 'CLOSED'),
      ),
    )
    .execute()
}
