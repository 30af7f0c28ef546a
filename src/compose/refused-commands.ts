import type { Finished } from '../gateway/index.ts'
import { isBizId } from '../kernel/index.ts'
import { recordAudit } from '../platform/audit/index.ts'
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
  ({ requestId, call, refusal }: Finished): void => {
    if (refusal?.code !== 'ACCESS.PERMISSION_DENIED' || !call?.caller || call.method !== 'POST') return
    const { accountId, portal, apiKeyId } = call.caller
    const event = {
      at: call.receivedAt,
      portal,
      actorId: accountId,
      workspaceId: call.workspace?.id ?? null,
      action: call.operation.id,
      targetId: targetIn(call.params),
      outcome: 'REFUSED',
      requestId,
      clientIp: call.clientIp,
      detail: { reason: refusal.code, ...(apiKeyId !== null && { apiKey: apiKeyId }) },
    } as const
    background.run('audit-refused', () => recordAudit(database, event))
  }
