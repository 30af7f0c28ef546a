import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Clock,
  type Ids,
  type Instant,
  notFound,
  Refusal,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { Ledger, Wallet } from '../../ledger/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'

export interface WalletsPorts {
  database: Database
  ledger: Ledger
  clock: Clock
  ids: Ids
  /** Refuses somebody who belongs to the workspace, by any account of theirs. */
  members: { demandOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> }
  /** A new workspace gets a wallet in each, in this order. */
  currencies: readonly string[]
}

/** Opens a new workspace's wallets inside the transaction that makes it; each is its currency's default. */
export const openWallets = async (
  { ledger, ids, currencies }: WalletsPorts,
  tx: Database,
  { workspaceId, at }: { workspaceId: WorkspaceId; at: Instant },
): Promise<void> => {
  const within = ledger.within(tx)
  for (const currency of currencies) {
    const bizId = ids.next<'wallet'>()
    const name = { walletName: currency, currency, isDefault: true }
    await within.openWallet({ bizId, workspaceBizId: workspaceId, ...name, at })
  }
}

/** The balance now, or as it stood at an instant of the past. */
export const balanceOf = async (
  { ledger, clock }: WalletsPorts,
  scope: { wallet: WalletId; workspace: WorkspaceId },
  at: Instant | undefined,
) => {
  const now = clock.now()
  const past = at !== undefined && at < now
  const balance = await (past ? ledger.readBalanceAt(scope, at) : ledger.readBalance(scope))
  if (!balance) throw notFound('no such wallet')
  return { balance, asOf: past ? at : now }
}

/** ACTIVE ↔ FROZEN → CLOSED. */
const changes = {
  freeze: { from: 'ACTIVE', to: 'FROZEN' },
  unfreeze: { from: 'FROZEN', to: 'ACTIVE' },
  close: { from: 'FROZEN', to: 'CLOSED' },
} as const

export interface WalletChange {
  wallet: WalletId
  change: keyof typeof changes
  reason: string
}

/** Stops or starts a wallet's movements, or ends it once it is empty, and says so in the audit log. */
export const changeStatus = (
  { database, ledger, members }: WalletsPorts,
  { wallet, change, reason }: WalletChange,
  act: Act,
): Promise<Wallet> =>
  inTransaction(database, async (tx) => {
    const within = ledger.within(tx)
    const moved = await within.moveWallet({ wallet, ...changes[change], at: act.at })
    const found = await within.readWallet({ wallet, workspace: null })
    if (!found) throw notFound('no such wallet')
    if (change === 'unfreeze') await members.demandOutsider(tx, act.accountId, found.workspaceBizId)
    if (!moved) throw new Refusal('STATE.CONFLICT', { internal: `the wallet is ${found.status}, or has money` })
    await recordAct(tx, act, { workspaceId: found.workspaceBizId, targetId: wallet, detail: { reason } })
    return found
  })
