import type {
  AccountId,
  Caller,
  Idempotency,
  RequestContext,
  WorkspaceAccess,
  WorkspaceId,
} from '../../kernel/index.ts'
import type { IdempotencyKey, PostingCommand } from './command.ts'

/** Who sends a command, for which workspace, and with which request. An operator acts for no workspace. */
export interface CommandContext<W extends WorkspaceId | null = WorkspaceId | null> {
  actor: AccountId
  workspace: W
  key: IdempotencyKey
  audit: NonNullable<PostingCommand['audit']>
}

type CommandRequest = RequestContext & { caller: Caller; idempotency: Idempotency }

const contextOf = <W extends WorkspaceId | null>(request: CommandRequest, workspace: W): CommandContext<W> => {
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
      // The actor is the account that created the key; the detail names the key.
      ...(caller.apiKeyId !== null && { detail: { apiKey: caller.apiKeyId } }),
    },
  }
}

/** The context of a member's command in the request's workspace. */
export const memberContext = (request: CommandRequest & { workspace: WorkspaceAccess }): CommandContext<WorkspaceId> =>
  contextOf(request, request.workspace.id)

/** The context of an operator's command. */
export const operatorContext = (request: CommandRequest): CommandContext<null> => contextOf(request, null)

/** The fields of a ledger command that come from its context. */
export const commandOrigin = ({ actor, key, audit }: CommandContext) => ({ actor, idempotency: key, audit })
