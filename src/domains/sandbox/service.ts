import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Money,
  parseMoney,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import { expiredAt, type Ledger, type OrderMove, rechargeExpiry } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { lockOpenOrders, lockWallets, type OpenOrder, type SandboxWallet } from './store.ts'

/** The reason in an order's history and data: a code, as `failureCode` is one. */
const reason = 'SANDBOX_RESET'

/** Opening balance of each default wallet, in whole units of its currency. */
const openingUnits = '10000'

/** A wallet's balance in the seed state, in minor units. */
const seedBalance = ({ isDefault, currency }: SandboxWallet): bigint =>
  isDefault ? (parseMoney(openingUnits, currency)?.minor ?? 0n) : 0n

/** The amount that brings a wallet to its seed balance, negative if it holds too much. Undefined: nothing to do. */
const correctionOf = (wallet: SandboxWallet): Money | undefined => {
  if (wallet.status === 'CLOSED') return undefined
  const minor = seedBalance(wallet) - wallet.balance
  return minor === 0n ? undefined : { minor, currency: wallet.currency }
}

/** The final status of an open order. An order past its expiry counts as EXPIRED already. */
const finalStatusOf = ({ type, status, expiresAt }: OpenOrder, at: Instant): 'CANCELLED' | 'EXPIRED' | 'FAILED' => {
  if (expiredAt({ status, data: { expiresAt } }, rechargeExpiry, at) !== null) return 'EXPIRED'
  return type === 'RECHARGE' || (type === 'WITHDRAWAL' && status === 'PENDING_APPROVAL') ? 'CANCELLED' : 'FAILED'
}

/** The field of an order's data that repeats the reason from its history. */
const reasonFields: Partial<Record<string, string>> = {
  'TRANSFER FAILED': 'failureCode',
  'WITHDRAWAL FAILED': 'failureReason',
  'RECHARGE CANCELLED': 'cancelReason',
}

/** The last step of an open order, and the data to store with it. */
const endingOf = (order: OpenOrder, at: Instant): Pick<OrderMove, 'steps' | 'data'> => {
  const status = finalStatusOf(order, at)
  const field = reasonFields[`${order.type} ${status}`]
  return { steps: [{ status, reason }], ...(field !== undefined && { data: { [field]: reason } }) }
}

/** Deletes a domain's data of a sandbox within the transaction of the reset. */
export type Cleaner = (tx: Tx, workspace: { workspaceId: WorkspaceId; at: Instant }) => Promise<void>

export interface SandboxPorts {
  database: Database
  ledger: Ledger
  members: {
    /** Locks the workspace and refuses if the caller has lost a permission since `access` was read. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<{ kind: WorkspaceKind }>
  }
  /** They run in this order. */
  cleaners: readonly Cleaner[]
}

/** Who acts, and with which access to the workspace. */
export interface SandboxContext {
  act: AuditContext
  access: WorkspaceAccess
}

/** Brings a wallet to its seed balance, by an entry against the external account. */
const correctWallet = async (
  ledger: Ledger,
  workspace: WorkspaceId,
  wallet: SandboxWallet,
  actor: AccountId | null,
): Promise<void> => {
  const amount = correctionOf(wallet)
  if (amount) await ledger.fundWallet({ wallet: wallet.id, workspace, amount, actor })
}

const endOrder = (ledger: Ledger, workspace: WorkspaceId, order: OpenOrder, { accountId, at }: AuditContext) =>
  ledger.execute({
    actor: accountId,
    parties: [],
    move: {
      id: order.id,
      type: order.type,
      workspace,
      expected: [order.status],
      ...endingOf(order, at),
      ...(order.holds && { endHolds: 'RELEASED' as const }),
    },
  })

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

/** Funds the wallets of a new sandbox. */
export const seedSandbox = async (
  { ledger }: Pick<SandboxPorts, 'ledger'>,
  workspaceId: WorkspaceId,
  tx: Tx,
): Promise<void> => {
  const within = ledger.within(tx)
  for (const wallet of await lockWallets(tx, workspaceId)) await correctWallet(within, workspaceId, wallet, null)
}

/**
 * Resets a sandbox to its seed state in one transaction: open orders end, their holds are released, and every wallet gets
 * its opening balance. The ledger is append-only, so it keeps its history and corrects the balances by new entries.
 */
export const resetSandbox = async (
  { database, ledger, members, cleaners }: SandboxPorts,
  { act, access }: SandboxContext,
): Promise<void> => {
  if (!access.isOwner) throw denied('only an owner resets a sandbox')
  await inTransaction(database, async (tx) => {
    const workspace = await members.assertAccess(tx, act.accountId, access)
    if (workspace.kind !== 'SANDBOX') throw denied('not a sandbox')
    const within = ledger.within(tx)
    // Lock orders before accounts, as every command does. Orders made before the wallets were locked show up at the
    // second look.
    await lockOpenOrders(tx, access.id)
    const wallets = await lockWallets(tx, access.id)
    for (const order of await lockOpenOrders(tx, access.id)) await endOrder(within, access.id, order, act)
    for (const wallet of wallets) await correctWallet(within, access.id, wallet, act.accountId)
    await within.deleteDailyUsage(access.id)
    for (const clean of cleaners) await clean(tx, { workspaceId: access.id, at: act.at })
    await recordSuccess(tx, act, { workspaceId: access.id, targetId: access.id })
  })
}
