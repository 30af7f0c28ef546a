import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Clock,
  type Ids,
  type Instant,
  notFound,
  type Page,
  Refusal,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { Balance, Flow, FlowQuery, Ledger, Wallet } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'

export interface WalletsPorts {
  database: Database
  ledger: Ledger
  clock: Clock
  ids: Ids
  /** Throws if the person belongs to the workspace with any of their accounts. */
  members: { assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void> }
  /** Currencies of the wallets of a new workspace, in this order. */
  currencies: readonly string[]
}

interface WalletScope {
  wallet: WalletId
  workspace: WorkspaceId
}

/** Opens the default wallets of a new workspace, in the transaction that creates it. */
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

/** Returns a wallet of the workspace. Throws RESOURCE.NOT_FOUND for an unknown one. */
export const readWallet = async ({ ledger }: WalletsPorts, scope: WalletScope): Promise<Wallet> => {
  const wallet = await ledger.readWallet(scope)
  if (!wallet) throw notFound('no such wallet')
  return wallet
}

/** Returns the balance now or at a past instant. For a future instant, returns the balance now. */
export const readBalance = async (
  { ledger, clock }: WalletsPorts,
  { at, ...scope }: WalletScope & { at: Instant | undefined },
): Promise<{ balance: Balance; asOf: Instant }> => {
  const now = clock.now()
  const isPast = at !== undefined && at < now
  const balance = await (isPast ? ledger.readBalanceAt(scope, at) : ledger.readBalance(scope))
  if (!balance) throw notFound('no such wallet')
  return { balance, asOf: isPast ? at : now }
}

/** Returns one page of a wallet's flows. */
export const listFlows = async (ports: WalletsPorts, query: FlowQuery): Promise<Page<Flow>> => {
  await readWallet(ports, { wallet: query.wallet, workspace: query.workspace })
  return ports.ledger.listFlows(query)
}

/** The status that each change requires, and the status that it sets: ACTIVE ↔ FROZEN → CLOSED. */
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

/**
 * Freezes, unfreezes or closes a wallet. Only an empty wallet can be closed. Operators cannot unfreeze a wallet of a
 * workspace that they belong to.
 */
export const changeWalletStatus = (
  { database, ledger, members }: WalletsPorts,
  { wallet, change, reason }: WalletChange,
  auditContext: AuditContext,
): Promise<Wallet> =>
  inTransaction(database, async (tx) => {
    const within = ledger.within(tx)
    const isChanged = await within.changeWalletStatus({ wallet, ...changes[change], at: auditContext.at })
    const found = await within.readWallet({ wallet, workspace: null })
    if (!found) throw notFound('no such wallet')
    if (change === 'unfreeze') await members.assertOutsider(tx, auditContext.accountId, found.workspaceBizId)
    if (!isChanged) throw new Refusal('STATE.CONFLICT', { internal: `the wallet is ${found.status}, or has funds` })
    await recordSuccess(tx, auditContext, { workspaceId: found.workspaceBizId, targetId: wallet, detail: { reason } })
    return found
  })
