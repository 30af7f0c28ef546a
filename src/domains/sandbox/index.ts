import type { Tx } from '../../database/index.ts'
import type { HandlerTable, WorkspaceId } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import { createService, type SandboxPorts } from './service.ts'

export type { SandboxPorts } from './service.ts'

export interface Sandbox {
  handlers: HandlerTable
  /** Gives a new sandbox its play money, once its wallets are open. */
  seed(tx: Tx, workspaceId: WorkspaceId): Promise<void>
}

export const createSandbox = (ports: SandboxPorts): Sandbox => {
  const service = createService(ports)
  return { handlers: createHandlers(service), seed: service.seed }
}
