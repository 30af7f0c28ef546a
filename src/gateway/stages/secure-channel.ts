import type { Configuration } from '../../config/index.ts'
import { SealedBody } from '../../contract/sealed-bodies.ts'
import { invalid, type MaybePromise, type Portal, parseStrictJson, Refusal, thenSync } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import type { ChannelPort } from '../ports.ts'

/** One answer for whatever is wrong, so that nothing can be learned by trying. */
const invalidPayload = (internal: string): Refusal => new Refusal('SECURE_CHANNEL.INVALID_PAYLOAD', { internal })

const sealedPayload = (body: unknown): string => {
  const sealed = SealedBody.safeParse(body)
  if (sealed.success) return sealed.data.payload
  throw invalidPayload('the body is no sealed one')
}

/** Both names of a channel in a request; where there is none to be had, an answer in the clear would be a surprise. */
const channelFields = ['x-secure-channel-session-id', 'x-secure-channel-reply']

const refuseChannel = ({ headers }: Call): void => {
  for (const name of channelFields) if (headers.has(name)) throw invalid(name, 'this chain has no secure channel')
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
    return thenSync(channel.open({ sessionId, portal, clientHash, method, path, payload }), (opened) => {
      if (!opened) throw invalidPayload('the payload does not open')
      if (sealsReply) call.sealReply = opened.seal
      const parsed = parseStrictJson(opened.plaintext, maxDepth)
      if (!parsed.ok) throw invalid('body', parsed.reason)
      call.payload = parsed.value
    })
  }
  const sealReply = (call: Call, portal: Portal, sessionId: string): MaybePromise<void> =>
    thenSync(channel.sealer({ sessionId, portal, clientHash: call.clientHash }), (seal) => {
      if (!seal) throw invalidPayload('no such session')
      call.sealReply = seal
    })
  return (call) => {
    const { operation, portal } = call
    if (operation.policy.channel === 'none' || portal === null) return
    if (call.chain.perimeter !== 'portal') return refuseChannel(call)
    const sessionId = call.headers.optional('x-secure-channel-session-id')
    const sealedReply = call.headers.optional('x-secure-channel-reply')
    if (sealedReply !== undefined && (sealedReply !== 'encrypted' || sessionId === undefined))
      throw invalid('x-secure-channel-reply')
    if (sessionId === undefined) {
      if (mandatory(call) && call.payload !== undefined) throw invalidPayload('the channel is mandatory here')
      return
    }
    if (call.payload !== undefined) return open(call, portal, sessionId, sealedReply !== undefined)
    return sealedReply === undefined ? undefined : sealReply(call, portal, sessionId)
  }
}
