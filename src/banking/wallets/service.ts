import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  type Clock,
  conflict,
  type Ids,
  type Instant,
  invalid,
  notFound,
  type Page,
  type WalletId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { Balance, Flow, FlowQuery, Ledger, Wallet } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'

export interface WalletsPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ledger: Ledger
  clock: Clock
  ids: Ids
  members: {
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
    /**
     * Locks the workspace. Throws ACCESS.PERMISSION_DENIED if it is frozen, or if the caller has just lost a
     * permission.
     */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
  }
  /** The currencies of a new workspace's wallets, in this order. */
  currencies: readonly string[]
}

export interface OpeningPorts {
  ledger: Ledger
  ids: Ids
}

interface Opening {
  workspaceId: WorkspaceId
  currency: string
  name: string
  at: Instant
}

interface WalletScope {
  wallet: WalletId
  workspace: WorkspaceId
}

export async function openWallets(
  ports: WalletsPorts,
  tx: Database,
  { workspaceId, at }: { workspaceId: WorkspaceId; at: Instant },
): Promise<void> {
  for (const currency of ports.currencies) await openWallet(ports, tx, { workspaceId, currency, name: currency, at })
}

/** The workspace must be locked. Returns undefined if its default wallet in the currency is not closed. */
export async function openMissingWallet(ports: OpeningPorts, tx: Tx, opening: Opening): Promise<WalletId | undefined> {
  const wallets = await ports.ledger.within(tx).listWallets(opening.workspaceId)
  const isOpen = ({ currency, isDefault, status }: Wallet): boolean =>
    currency === opening.currency && isDefault && status !== 'CLOSED'
  return wallets.some(isOpen) ? undefined : openWallet(ports, tx, opening)
}

/** Every workspace has wallets, so a list without any means that the workspace does not exist. */
export async function listWalletsOf({ ledger }: WalletsPorts, workspace: WorkspaceId): Promise<Wallet[]> {
  const wallets = await ledger.listWallets(workspace)
  if (wallets.length === 0) throw notFound('no such workspace')
  return wallets
}

/** Throws STATE.CONFLICT if the workspace has a default wallet in the currency that is not closed. */
export function createWallet(
  ports: WalletsPorts,
  { currency, name }: Pick<Opening, 'currency' | 'name'>,
  { auditContext, access }: { auditContext: AuditContext; access: WorkspaceAccess },
): Promise<Wallet> {
  return ports.transaction(async (tx) => {
    if (!ports.currencies.includes(currency)) throw invalid('currency', 'this currency is not offered')
    await ports.members.assertAccess(tx, auditContext.accountId, access)
    const opening = { workspaceId: access.id, currency, name, at: auditContext.at }
    const wallet = await openMissingWallet(ports, tx, opening)
    if (!wallet) throw conflict(`the workspace has a wallet in ${currency}`, 'currency')
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: wallet, detail: { currency } })
    return readWallet({ ledger: ports.ledger.within(tx) }, { wallet, workspace: access.id })
  })
}

/** Throws RESOURCE.NOT_FOUND for an unknown wallet. */
export async function readWallet({ ledger }: Pick<WalletsPorts, 'ledger'>, scope: WalletScope): Promise<Wallet> {
  const wallet = assertFound(await ledger.readWallet(scope), 'no such wallet')
  return wallet
}

/** For an instant that is not settled yet, returns the balance of the last settled one. */
export async function readBalance(
  { ledger, clock }: Pick<WalletsPorts, 'ledger' | 'clock'>,
  { at, ...scope }: WalletScope & { at: Instant | undefined },
): Promise<{ balance: Balance; asOf: Instant }> {
  if (at !== undefined) return assertFound(await ledger.readBalanceAt(scope, at), 'no such wallet')
  const now = clock.now()
  return { balance: assertFound(await ledger.readBalance(scope), 'no such wallet'), asOf: now }
}

export async function listFlows(ports: WalletsPorts, query: FlowQuery): Promise<Page<Flow>> {
  await readWallet(ports, { wallet: query.wallet, workspace: query.workspace })
  return ports.ledger.listFlows(query)
}

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

/** Only an empty wallet can be closed. Operators can only freeze in workspaces that they belong to. */
export function changeWalletStatus(
  { transaction, ledger, members }: WalletsPorts,
  { wallet, change, reason }: WalletChange,
  auditContext: AuditContext,
): Promise<Wallet> {
  return transaction(async (tx) => {
    const within = ledger.within(tx)
    const isChanged = await within.changeWalletStatus({ wallet, ...changes[change], at: auditContext.at })
    const found = assertFound(await within.readWallet({ wallet, workspace: null }), 'no such wallet')
    if (change !== 'freeze') await members.assertOutsider(tx, auditContext.accountId, found.workspaceBizId)
    if (!isChanged) throw conflict(`the wallet is ${found.status}, or has funds`)
    await recordSuccess(tx, auditContext, { workspaceId: found.workspaceBizId, targetId: wallet, detail: { reason } })
    return found
  })
}

async function openWallet(
  { ledger, ids }: OpeningPorts,
  tx: Database,
  { workspaceId, currency, name, at }: Opening,
): Promise<WalletId> {
  const bizId = ids.next<'wallet'>()
  const wallet = { bizId, workspaceBizId: workspaceId, walletName: name, currency, isDefault: true, at }
  await ledger.within(tx).openWallet(wallet)
  return bizId
}
