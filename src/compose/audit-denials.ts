import type { FinishedRequest } from '../gateway/index.ts'
import { isBizId } from '../kernel/index.ts'
import { recordRefusal } from '../platform/audit/index.ts'
import type { Infrastructure } from './infrastructure.ts'

/** The id in the path of a command, which is its target. Null where it is not a UUID. */
const targetIn = (params: Record<string, string>): string | null => {
  const [id = ''] = Object.values(params)
  return isBizId(id) ? id : null
}

/**
 * Writes commands that were refused for lack of a permission to the audit log, in the background. Refused reads are in
 * the request log only.
 */
export const auditDenials =
  ({ database, background }: Pick<Infrastructure, 'database' | 'background'>) =>
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
    background.run('audit-refused', () => recordRefusal(database, act, on))
  }
