import { type Configuration, settingsOfPortal } from '../../../config/index.ts'
import { headers } from '../../../contract/headers.ts'
import { SealedBody } from '../../../contract/policies.ts'
import {
  invalid,
  type MaybePromise,
  type Portal,
  parseStrictJson,
  Refusal,
  skipBom,
  thenSync,
} from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ChannelPort, ChannelRequest } from '../ports.ts'

const sessionField = headers.channelSession.field
const replyField = headers.channelReply.field

/**
 * Only portals have the secure channel. Without a channel session, a body is rejected if the portal's configuration
 * makes the channel mandatory.
 */
export function secureChannelStage(channel: ChannelPort, settings: Configuration): Stage {
  const isMandatory = (portal: Portal, call: Call) =>
    settingsOfPortal(settings.portals, portal).channelMandatory.includes(call.operation.policy.rate)
  return (call) => {
    const { operation, portal, clientHash } = call
    // The session header is allowed here: the operation that closes a session has no channel but uses this header.
    if (operation.policy.channel === 'none' || portal === null) return assertWithout(call, replyField)
    if (call.chain.perimeter !== 'portal') return assertWithout(call, sessionField, replyField)
    const sessionId = call.headers.optional(sessionField)
    const wantedReply = call.headers.optional(replyField)
    if (wantedReply !== undefined && (!headers.channelReply.accepts(wantedReply) || sessionId === undefined))
      throw invalid(replyField)
    const sealsReply = wantedReply !== undefined
    if (sealsReply && typeof operation.reply === 'string') throw invalid(replyField, 'only JSON replies are encrypted')
    if (sessionId === undefined) {
      if (call.payload !== undefined && isMandatory(portal, call)) throw invalidPayload('the channel is mandatory here')
      return
    }
    // An intermediary cannot replace the key, so a client that sends one can check its reply.
    const session = { sessionId, portal, clientHash, requestId: call.idempotencyKey ?? call.requestId }
    if (call.payload !== undefined) return openPayload(channel, call, session, sealsReply)
    if (!sealsReply) return
    return thenSync(channel.sealer(session), (seal) => {
      if (!seal) throw invalidPayload('no such session')
      call.sealReply = seal
    })
  }
}

/** If channel headers were ignored, the response would be plain text. */
function assertWithout(call: Call, ...fields: string[]): void {
  for (const field of fields) if (call.headers.has(field)) throw invalid(field, 'no secure channel here')
}

/** The same code for every failure, so that an attacker cannot distinguish them. */
function invalidPayload(internal: string): Refusal {
  return new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD', { internal })
}

/** Replaces the sealed payload with its content. If `sealsReply` is set, the reply will be sealed too. */
function openPayload(
  channel: ChannelPort,
  call: Call,
  session: ChannelRequest,
  sealsReply: boolean,
): MaybePromise<void> {
  const { method, path } = call
  const payload = sealedPayload(call.payload)
  return thenSync(channel.open({ ...session, method, path, payload }), (opened) => {
    if (!opened) throw invalidPayload('the payload cannot be opened')
    if (sealsReply) call.sealReply = opened.seal
    const parsed = parseStrictJson(skipBom(opened.plaintext))
    if (!parsed.ok) throw invalid('body', parsed.reason)
    call.payload = parsed.value
  })
}

/** Another outer shape is invalid input, because it contains no ciphertext. */
function sealedPayload(body: unknown): string {
  const sealed = SealedBody.safeParse(body)
  if (sealed.success) return sealed.data.payload
  throw invalid('payload', 'the body is not sealed')
}
