import { isBizId, type Operation, Refusal, StreamReply } from '../../../kernel/index.ts'
import type { AuditContext } from '../../../platform/audit/index.ts'
import type { CommandKey, SentCommand, ServiceCommands } from '../../../platform/service-commands/index.ts'
import { type Call, isCommand, portalOfCall, type Stage } from '../call.ts'

export function auditSubjectOf({ workspace, params }: Call): SentCommand['subject'] {
  return {
    workspaceId: workspace?.id ?? null,
    targetId: targetIn(params),
  }
}

export function auditContextOfCall(call: Call) {
  const { operation, caller, receivedAt, requestId, idempotencyKey, clientIp } = call
  return {
    operationId: operation.id,
    accountId: caller?.accountId ?? null,
    apiKeyId: caller?.apiKeyId ?? null,
    portal: caller?.portal ?? portalOfCall(call),
    at: receivedAt,
    requestId,
    idempotencyKey,
    clientIp,
  } satisfies AuditContext<SentCommand['audit']['accountId']>
}

/** The time to validate and store a reply. */
const graceMs = 5_000

export interface RecordedCommands {
  commands: Pick<ServiceCommands, 'claim' | 'succeed' | 'refuse'>
  isRecorded(operation: Operation): boolean
  timeoutMsOf(operation: Operation): number
  onReplayed(operationId: string): void
}

/** Writes the audit entry of each command, and keeps the replies of idempotent ones. */
export function recordCommandsStage(
  { commands, isRecorded, timeoutMsOf, onReplayed }: RecordedCommands,
  dispatch: Stage,
): Stage {
  const succeed = async (command: SentCommand, call: Call): Promise<void> => {
    const { reply } = call
    try {
      // A reply that is passed through can be an error of the service.
      if (reply instanceof StreamReply && reply.status >= 400) await commands.refuse(command, `HTTP.${reply.status}`)
      else await commands.succeed(command, typeof reply === 'string' ? reply : null)
    } catch (error) {
      if (reply instanceof StreamReply) reply.body.destroy()
      throw error
    }
  }
  const record = async (call: Call): Promise<void> => {
    const key = keyOf(call)
    const claim = key ? await commands.claim(key, timeoutMsOf(call.operation) + graceMs) : { attempt: 1 }
    if ('reply' in claim) {
      call.reply = claim.reply
      onReplayed(call.operation.id)
      return
    }
    const command = { key, ...claim, audit: auditContextOfCall(call), subject: auditSubjectOf(call) }
    try {
      await dispatch(call)
    } catch (error) {
      call.isRefusalRecorded = true
      await commands.refuse(command, reasonOf(error))
      throw error
    }
    await succeed(command, call)
  }
  return (call) => (isCommand(call) && isRecorded(call.operation) ? record(call) : dispatch(call))
}

/** Null if the id in the path is not a UUID. */
function targetIn(params: Record<string, string>): string | null {
  const [id = ''] = Object.values(params)
  return isBizId(id) ? id : null
}

/** Only JSON is stored and compared. */
function keyOf({ operation, caller, workspace, idempotency }: Call): CommandKey | null {
  return idempotency && caller && typeof operation.reply !== 'string' && operation.body !== 'multipart'
    ? {
        account: caller.accountId,
        workspace: workspace?.id ?? null,
        operation: operation.id,
        requestId: idempotency.key,
        bodyHash: idempotency.bodyHash,
      }
    : null
}

function reasonOf(error: unknown): string {
  return error instanceof Refusal ? error.code : 'SYSTEM.INTERNAL_ERROR'
}
