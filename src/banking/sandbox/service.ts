import type { DomainPorts } from '../../api/domain.ts'
import { expiryOf } from '../../contract/ledger/life-cycle.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertAllowed,
  denied,
  type Instant,
  type Money,
  parseMoney,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import { expiredAt, type Ledger, type OrderMove } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { lockOpenOrders, lockWallets, type OpenOrder, type SandboxWallet } from './store.ts'

/** Written to the history and data of orders. */
const reason = 'SANDBOX_RESET'

/** Balance of each default wallet, in whole units. */
const openingUnits = '10000'

/** Runs in the transaction of the reset. */
export type Cleaner = (tx: Tx, workspace: { workspaceId: WorkspaceId; at: Instant }) => Promise<void>

export interface SandboxPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ledger: Ledger
  members: {
    /** Locks the workspace. Throws ACCESS.PERMISSION_DENIED if the caller has just lost a permission. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<{ kind: WorkspaceKind }>
  }
  /** Called in this order. */
  cleaners: readonly Cleaner[]
}

export interface SandboxContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

export async function seedSandbox(
  { ledger }: Pick<SandboxPorts, 'ledger'>,
  workspaceId: WorkspaceId,
  tx: Tx,
): Promise<void> {
  const within = ledger.within(tx)
  for (const wallet of await lockWallets(tx, workspaceId)) await correctWallet(within, workspaceId, wallet, null)
}

/** Only owners can reset. The ledger is append-only, so new entries correct the balances and the history stays. */
export async function resetSandbox(
  { transaction, ledger, members, cleaners }: SandboxPorts,
  { auditContext, access }: SandboxContext,
): Promise<void> {
  assertAllowed(access, ({ isOwner }) => isOwner, 'only an owner can reset a sandbox')
  await transaction(async (tx) => {
    const workspace = await members.assertAccess(tx, auditContext.accountId, access)
    if (workspace.kind !== 'SANDBOX') throw denied('not a sandbox')
    const within = ledger.within(tx)
    // Lock orders before accounts, as every command does. Read them again, because some can have been created before
    // the wallets were locked.
    await lockOpenOrders(tx, access.id)
    const wallets = await lockWallets(tx, access.id)
    for (const order of await lockOpenOrders(tx, access.id)) await endOrder(within, access.id, order, auditContext)
    for (const wallet of wallets) await correctWallet(within, access.id, wallet, auditContext.accountId)
    await within.deleteUsage(access.id)
    for (const clean of cleaners) await clean(tx, { workspaceId: access.id, at: auditContext.at })
    await recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: access.id })
  })
}

/** The balancing entry is posted to the sandbox's CLEARING account. */
async function correctWallet(
  ledger: Ledger,
  workspace: WorkspaceId,
  wallet: SandboxWallet,
  actor: AccountId | null,
): Promise<void> {
  const amount = correctionOf(wallet)
  if (amount) await ledger.fundWallet({ wallet: wallet.id, workspace, amount, actor })
}

/** Negative if the balance is too high. */
function correctionOf(wallet: SandboxWallet): Money | undefined {
  if (wallet.status === 'CLOSED') return undefined
  const minor = seedBalance(wallet) - wallet.balance
  return minor === 0n ? undefined : { minor, currency: wallet.currency }
}

/** Returns minor units. */
function seedBalance({ isDefault, currency }: SandboxWallet): bigint {
  return isDefault ? (parseMoney(openingUnits, currency)?.minor ?? 0n) : 0n
}

function endOrder(ledger: Ledger, workspace: WorkspaceId, order: OpenOrder, { accountId, at }: AuditContext) {
  return ledger.execute({
    actor: accountId,
    parties: [],
    move: {
      id: order.id,
      type: order.type,
      workspace,
      expected: [order.status],
      ...endingOf(ledger, order, at),
      ...(order.holds && { endHolds: 'RELEASED' as const }),
    },
  })
}

/** An order has the status of its expiry from then on, even if no job has stored that status yet. */
function endingOf(
  ledger: Pick<Ledger, 'lifeCycleOf'>,
  { type, status, expiresAt, ending }: OpenOrder,
  at: Instant,
): Pick<OrderMove, 'steps' | 'data'> {
  const lifeCycle = ledger.lifeCycleOf(type)
  const expiry = lifeCycle && expiryOf(lifeCycle)
  if (expiry && expiredAt({ status, data: { expiresAt } }, expiry, at) !== null)
    return { steps: [{ status: expiry.to, reason }] }
  const move = Object.values(lifeCycle?.moves ?? {}).find(({ by, from }) => by === 'sandbox' && from.includes(status))
  const field = move?.reason
  return {
    steps: [{ status: move?.to[0] ?? ending, reason }],
    ...(field && { data: { [field]: reason } }),
  }
}
