import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, WorkspaceId } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { type SandboxPorts, seedSandbox } from './service.ts'

/*
 * Sandbox workspaces: their initial balances and their reset. Domains delete their data of a sandbox in a hook. Start
 * reading in `service.ts`.
 */

export type { SandboxPorts } from './service.ts'

export interface Sandbox {
  handlers: HandlerTable
  /** Funds the wallets of a new sandbox. */
  seed(tx: Tx, workspaceId: WorkspaceId): Promise<void>
}

/** Builds the domain. */
export const createSandbox = (ports: SandboxPorts): Sandbox => ({
  handlers: createHandlers(ports),
  seed: (tx, workspaceId) => seedSandbox(ports, workspaceId, tx),
})

export default domain({
  name: 'sandbox',
  ...declaredBy(contract),
  uses: ['members', 'wallets'],
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
