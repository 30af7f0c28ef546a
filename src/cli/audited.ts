import type { Tx } from '../database/index.ts'
import { recordAudit } from '../platform/audit/index.ts'
import { systemClock, systemIds } from '../platform/runtime/index.ts'

/** The audit row of a command, which has neither an account nor an address: whoever may run it holds the secret key. */
export const recordCommand = (
  tx: Tx,
  command: string,
  { targetId, detail = {} }: { targetId: string; detail?: Record<string, string> },
): Promise<void> =>
  recordAudit(tx, {
    at: systemClock.now(),
    portal: 'SYSTEM',
    actorId: null,
    workspaceId: null,
    action: command,
    targetId,
    outcome: 'SUCCESS',
    requestId: systemIds.next(),
    clientIp: '',
    detail,
  })
