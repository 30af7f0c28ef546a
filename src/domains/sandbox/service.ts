import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'

import type { Ledger } from '../../ledger/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { correction, endingOf } from './rules.ts'
import { lockWallets, type OpenOrder, openOrders, type SandboxWallet } from './store.ts'

/** Deletes what a domain keeps of a workspace and what may be deleted, inside the transaction of the reset. */
export type Cleaner = (tx: Tx, workspace: { workspaceId: WorkspaceId; at: Instant }) => Promise<void>

export interface SandboxPorts {
  database: Database
  ledger: Ledger
  /** Refuses where the rights by which somebody acts have shrunk since they were read. */
  members: { holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<{ kind: WorkspaceKind }> }
  /** In the order in which they are to run. */
  cleaners: readonly Cleaner[]
}

/** Brings a wallet to its seed balance, by an entry from or to the outside world. */
const correct = async (
  ledger: Ledger,
  workspace: WorkspaceId,
  wallet: SandboxWallet,
  actor: AccountId | null,
): Promise<void> => {
  const amount = correction(wallet)
  if (amount) await ledger.fundWallet({ wallet: wallet.id, workspace, amount, actor })
}

const end = (ledger: Ledger, workspace: WorkspaceId, order: OpenOrder, { accountId, at }: Act) =>
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

export const createService = ({ database, ledger, members, cleaners }: SandboxPorts) => ({
  /** Gives a new sandbox its play money, once its wallets are open. */
  seed: async (tx: Tx, workspaceId: WorkspaceId): Promise<void> => {
    const within = ledger.within(tx)
    for (const wallet of await lockWallets(tx, workspaceId)) await correct(within, workspaceId, wallet, null)
  },

  /**
   * Back to the seed state, wholly or not at all: open orders end, their holds are released, and every wallet gets
   * its opening balance again. The book itself is append-only: what happened stays in it, corrected by entries.
   */
  reset: (act: Act, by: WorkspaceAccess): Promise<void> => {
    if (!by.isOwner) throw denied('only an owner empties a sandbox')
    return inTransaction(database, async (tx) => {
      const workspace = await members.holdFor(tx, act.accountId, by)
      if (workspace.kind !== 'SANDBOX') throw denied('no sandbox')
      const within = ledger.within(tx)
      // Orders before accounts, as every command holds them. While the wallets are held nothing is ordered, and what came
      // in between is there at the second look.
      await openOrders(tx, by.id)
      const wallets = await lockWallets(tx, by.id)
      for (const order of await openOrders(tx, by.id)) await end(within, by.id, order, act)
      for (const wallet of wallets) await correct(within, by.id, wallet, act.accountId)
      await within.deleteDailyUsage(by.id)
      for (const clean of cleaners) await clean(tx, { workspaceId: by.id, at: act.at })
      await recordAct(tx, act, { workspaceId: by.id, targetId: by.id })
    })
  },
})

export type SandboxService = ReturnType<typeof createService>
