import type { Configuration } from '../../config/index.ts'
import { SealedBody } from '../../contract/sealed.ts'
import { invalid, type MaybePromise, type Portal, parseStrictJson, Refusal, whenReady } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ChannelPort } from '../ports.ts'

/** One answer for whatever is wrong, so that nothing can be learned by trying. */
const invalidPayload = (internal: string): Refusal => new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD', { internal })

const sealedPayload = (body: unknown): string => {
  const sealed = SealedBody.safeParse(body)
  if (sealed.success) return sealed.data.payload
  throw invalidPayload('the body is no sealed one')
}

const sessionField = 'x-secure-channel-session-id'
const replyField = 'x-secure-channel-reply'

/** Without a channel a client that asks for a sealed reply would get it in the clear. */
const refuseFields = ({ headers }: Call, ...names: string[]): void => {
  for (const name of names) if (headers.has(name)) throw invalid(name, 'no secure channel here')
}

/**
 * Opens a body that came through the secure channel (completions.md), and sees to a sealed answer where one is asked for.
 * The channel is the portals': machines have no way to open one, and none is demanded of them.
 */
export const secureChannel = (channel: ChannelPort, settings: Configuration): Stage => {
  const { maxDepth } = settings.requests
  const mandatory = (call: Call) =>
    call.portal !== null && settings.portals[call.portal].channelMandatory.includes(call.operation.policy.rate)
  const open = (call: Call, portal: Portal, sessionId: string, sealsReply: boolean): MaybePromise<void> => {
    const { clientHash, method, path } = call
    const payload = sealedPayload(call.payload)
    return whenReady(channel.open({ sessionId, portal, clientHash, method, path, payload }), (opened) => {
      if (!opened) throw invalidPayload('the payload does not open')
      if (sealsReply) call.sealReply = opened.seal
      const parsed = parseStrictJson(opened.plaintext, maxDepth)
      if (!parsed.ok) throw invalid('body', parsed.reason)
      call.payload = parsed.value
    })
  }
  const sealReply = (call: Call, portal: Portal, sessionId: string): MaybePromise<void> =>
    whenReady(channel.sealer({ sessionId, portal, clientHash: call.clientHash }), (seal) => {
      if (!seal) throw invalidPayload('no such session')
      call.sealReply = seal
    })
  return (call) => {
    const { operation, portal } = call
    // The session's field stays allowed here: an operation without a channel may close the session that it names.
    if (operation.policy.channel === 'none' || portal === null) return refuseFields(call, replyField)
    if (call.chain.perimeter !== 'portal') return refuseFields(call, sessionField, replyField)
    const sessionId = call.headers.optional(sessionField)
    const sealedReply = call.headers.optional(replyField)
    if (sealedReply !== undefined && (sealedReply !== 'encrypted' || sessionId === undefined)) throw invalid(replyField)
    if (sessionId === undefined) {
      if (mandatory(call) && call.payload !== undefined) throw invalidPayload('the channel is mandatory here')
      return
    }
    if (call.payload !== undefined) return open(call, portal, sessionId, sealedReply !== undefined)
    return sealedReply === undefined ? undefined : sealReply(call, portal, sessionId)
  }
}
