import type { FinishedRequest } from '../gateway/index.ts'
import { isBizId } from '../kernel/index.ts'
import { recordRefusedAct } from '../platform/audit/index.ts'
import type { Outside } from './outside.ts'

/** The one id in a command's path, whose target it is; what can be no id is not kept. */
const targetIn = (params: Record<string, string>): string | null => {
  const [id = ''] = Object.values(params)
  return isBizId(id) ? id : null
}

/**
 * Puts in the audit log which command somebody signed in had no right to. Nobody waits for it: nothing was done, and the
 * request log has it too. Reading that was refused stands in that alone.
 */
export const auditRefusedCommands =
  ({ database, background }: Pick<Outside, 'database' | 'background'>) =>
  ({ requestId, call, refusal }: FinishedRequest): void => {
    if (refusal?.code !== 'ACCESS.PERMISSION_DENIED' || !call?.caller || call.method !== 'POST') return
    const { accountId, portal, apiKeyId } = call.caller
    const operationId = call.operation.id
    const act = { operationId, accountId, apiKeyId, portal, at: call.receivedAt, requestId, clientIp: call.clientIp }
    const on = {
      workspaceId: call.workspace?.id ?? null,
      targetId: targetIn(call.params),
      detail: { reason: refusal.code },
    }
    background.run('audit-refused', () => recordRefusedAct(database, act, on))
  }
