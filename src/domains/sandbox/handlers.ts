import { createHandlerTable, type HandlerTable, toIso } from '../../kernel/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import type { SandboxService } from './service.ts'

export const createHandlers = (service: SandboxService): HandlerTable =>
  createHandlerTable(contract, {
    resetSandbox: async (request) => {
      await service.reset(actOf(request), request.workspace)
      return { success: true, resetAt: toIso(request.receivedAt) }
    },
  })
