/**
 * Wallets with their balances and flows. The ledger stores the wallets. Members read them; operators freeze and close
 * them. Start reading in `service.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { Database } from '../../database/index.ts'
import type { HandlerTable, Instant, Words, WorkspaceId } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { walletEvents } from './events.ts'
import { createHandlers } from './handlers.ts'
import { openWallets, type WalletsPorts } from './service.ts'

export { type AddedCurrencyPorts, type OpeningResult, openWalletEverywhere, openWalletIn } from './added-currency.ts'
export type { WalletsPorts } from './service.ts'

export interface Wallets {
  handlers: HandlerTable
  events: EventMapper[]
  /** Call in the transaction that creates the workspace. */
  openWallets(tx: Database, workspace: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

export function createWallets(ports: WalletsPorts & { words: Words }): Wallets {
  return {
    handlers: createHandlers(ports),
    events: [walletEvents(ports.words)],
    openWallets: (tx, workspace) => openWallets(ports, tx, workspace),
  }
}

export default domain({
  name: 'wallets',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  uses: ['members'],
  needs: ['clock', 'currencies', 'database', 'ids', 'ledger', 'transaction', 'words'],
  create: ({ use, ...ports }) => {
    const { memberships } = use('members')
    const {
      handlers,
      events,
      openWallets: onWorkspaceOpened,
    } = createWallets({
      ...ports,
      members: memberships,
    })
    return { handlers, events, onWorkspaceOpened }
  },
})
