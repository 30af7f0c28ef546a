import type { Call } from '../gateway/call.ts'
import { namedChannelSession } from '../gateway/named-channel-session.ts'
import type { AnyRequest } from '../kernel/index.ts'
import { fileCondition } from './file-condition.ts'

/**
 * The call as handlers see it. Which of caller, workspace, idempotency and upload are there follows from the policy
 * that the stages have enforced, which is what the handlers' types say too.
 */
export const toRequest = (call: Call): AnyRequest => ({
  operationId: call.operation.id,
  requestId: call.requestId,
  receivedAt: call.receivedAt,
  portal: call.portal ?? 'CONSUMER',
  locale: call.locale,
  clientIp: call.clientIp,
  clientHash: call.clientHash,
  userAgent: call.userAgent,
  country: call.country,
  channelSessionId: namedChannelSession(call.headers),
  range: fileCondition(call, 'range') ?? null,
  ifNoneMatch: fileCondition(call, 'if-none-match') ?? null,
  ifRange: fileCondition(call, 'if-range') ?? null,
  headOnly: call.headOnly,
  params: call.params,
  query: call.input.query,
  body: call.input.body,
  caller: call.caller,
  workspace: call.workspace,
  idempotency: call.idempotency,
  upload: call.upload,
})
