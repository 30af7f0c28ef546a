import type { AccountId, Caller, Idempotency, RequestContext, WorkspaceAccess, WorkspaceId } from '../kernel/index.ts'
import type { IdempotencyKey, PostingCommand } from './command.ts'

/** Who commands, where, and under which request. An operator acts in no workspace. */
export interface Acting<W extends WorkspaceId | null = WorkspaceId | null> {
  actor: AccountId
  workspace: W
  key: IdempotencyKey
  audit: NonNullable<PostingCommand['audit']>
}

type CommandRequest = RequestContext & { caller: Caller; idempotency: Idempotency }

const acting = <W extends WorkspaceId | null>(request: CommandRequest, workspace: W): Acting<W> => {
  const { operationId, portal, requestId, clientIp, caller, idempotency } = request
  const actor = caller.accountId
  return {
    actor,
    workspace,
    key: { account: actor, workspace, operation: operationId, ...idempotency },
    audit: {
      portal,
      action: operationId,
      requestId,
      clientIp,
      // The actor is who made the key; which one it was is told beside.
      ...(caller.apiKeyId !== null && { detail: { apiKey: caller.apiKeyId } }),
    },
  }
}

export const memberActing = (request: CommandRequest & { workspace: WorkspaceAccess }): Acting<WorkspaceId> =>
  acting(request, request.workspace.id)

export const operatorActing = (request: CommandRequest): Acting<null> => acting(request, null)

/** The parts of a command that say who sent it. */
export const signedBy = ({ actor, key, audit }: Acting) => ({ actor, idempotency: key, audit })
