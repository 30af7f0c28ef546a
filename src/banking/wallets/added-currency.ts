import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import type { Clock, WalletId, WorkspaceId, WorkspaceStatus } from '../../kernel/index.ts'
import { type OpeningPorts, openMissingWallet } from './service.ts'
import { listWorkspacesWithout } from './store.ts'

export interface AddedCurrencyPorts extends OpeningPorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  lockWorkspace(tx: Tx, id: WorkspaceId): Promise<{ status: WorkspaceStatus } | undefined>
  /** Called in the transaction that opens the wallet. */
  onOpened(tx: Tx, opened: { workspaceId: WorkspaceId; wallet: WalletId; currency: string }): Promise<void>
}

/** Only OPENED means that something changed. */
export type OpeningResult = 'OPENED' | 'EXISTS' | 'FROZEN' | 'UNKNOWN'

/** Idempotent: the workspace gets at most one wallet in the currency. */
export function openWalletIn(
  ports: AddedCurrencyPorts,
  workspaceId: WorkspaceId,
  currency: string,
): Promise<OpeningResult> {
  return ports.transaction(async (tx) => {
    const workspace = await ports.lockWorkspace(tx, workspaceId)
    if (!workspace) return 'UNKNOWN'
    if (workspace.status !== 'ACTIVE') return 'FROZEN'
    const wallet = await openMissingWallet(ports, tx, { workspaceId, currency, name: currency, at: ports.clock.now() })
    if (!wallet) return 'EXISTS'
    await ports.onOpened(tx, { workspaceId, wallet, currency })
    return 'OPENED'
  })
}

const batchSize = 100

/** Uses one transaction per workspace. A call after an interruption continues with the workspaces that are left. */
export async function openWalletEverywhere(
  ports: AddedCurrencyPorts,
  currency: string,
): Promise<{ opened: number; frozen: number }> {
  const counts = { opened: 0, frozen: 0 }
  let after: WorkspaceId | undefined
  for (;;) {
    const batch = await listWorkspacesWithout(ports.database, { currency, after, limit: batchSize })
    for (const id of batch) {
      const result = await openWalletIn(ports, id, currency)
      if (result === 'OPENED') counts.opened++
      if (result === 'FROZEN') counts.frozen++
    }
    if (batch.length < batchSize) return counts
    after = batch.at(-1)
  }
}
