import { createHandlerTable, type HandlerTable, toIso } from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { resetSandbox, type SandboxPorts } from './service.ts'

export function createHandlers(ports: SandboxPorts): HandlerTable {
  return createHandlerTable(contract, {
    resetSandbox: async (request) => {
      await resetSandbox(ports, { auditContext: auditContextOf(request), access: request.workspace })
      return { success: true, resetAt: toIso(request.receivedAt) }
    },
  })
}
