import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, WorkspaceId } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { type SandboxPorts, seedSandbox } from './service.ts'

/*
 * Sandbox workspaces: their initial balances and their reset. Each domain deletes its sandbox data in a hook. Start
 * reading in `service.ts`.
 */

export type { SandboxPorts } from './service.ts'

export interface Sandbox {
  handlers: HandlerTable
  seed(tx: Tx, workspaceId: WorkspaceId): Promise<void>
}

export function createSandbox(ports: SandboxPorts): Sandbox {
  return {
    handlers: createHandlers(ports),
    seed: (tx, workspaceId) => seedSandbox(ports, workspaceId, tx),
  }
}

export default domain({
  name: 'sandbox',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  uses: ['members', 'wallets'],
  needs: ['database', 'hooks', 'ledger', 'transaction'],
  create: ({ use, hooks, ...ports }) => {
    const { handlers, seed } = createSandbox({
      ...ports,
      members: use('members').memberships,
      cleaners: [hooks.sandboxReset],
    })
    return {
      handlers,
      onWorkspaceOpened: async (tx, { workspaceId, kind }) => {
        if (kind === 'SANDBOX') await seed(tx, workspaceId)
      },
    }
  },
})
