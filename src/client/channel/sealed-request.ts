import { SealedReply } from '../../contract/sealed-bodies.ts'
import type { Operation } from '../../kernel/index.ts'
import type { SealRule } from '../options.ts'
import type { Channel } from './index.ts'

/** Whether a secret goes in or comes out: before sign-in, where a second factor is tried, and where a fresh one is asked for. */
const isSensitive = ({ policy, body }: Operation): boolean =>
  policy.stepUp ||
  policy.rate === 'login' ||
  policy.rate === 'password' ||
  (policy.caller === 'anonymous' && body !== 'none')

/** Whether a call goes through the secure channel. An operation that the channel is not for never does. */
export const shouldSeal = (operation: Operation, rule: SealRule, asked: boolean | undefined): boolean => {
  if (operation.policy.channel === 'none') return false
  if (asked !== undefined) return asked
  return rule === 'all' || (rule === 'sensitive' && isSensitive(operation))
}

/** A request as the secure channel carries it, and the means to open its reply. */
export interface SealedRequest {
  headers: Record<string, string>
  body: string | FormData | null
  /** The reply's data. Throws where it was not sealed for this request. */
  open(data: unknown): Promise<unknown>
}

const payloadOf = (data: unknown): string => {
  const sealed = SealedReply.safeParse(data)
  if (sealed.success) return sealed.data.payload
  throw new TypeError('the reply is not sealed')
}

/** Without a channel everything passes as it is. The path is the gateway's, whatever proxy stands in front. */
export const sealRequest = async (
  channel: Channel | null,
  method: string,
  path: string,
  body: string | FormData | null,
): Promise<SealedRequest> => {
  if (!channel) return { headers: {}, body, open: async (data) => data }
  const sealed = typeof body === 'string' ? await channel.seal(method, path, body) : null
  return {
    headers: { 'x-secure-channel-session-id': channel.sessionId, 'x-secure-channel-reply': 'encrypted' },
    body: sealed ? JSON.stringify({ payload: sealed.payload }) : null,
    open: async (data) => JSON.parse(await channel.open(payloadOf(data), sealed?.seq ?? null)),
  }
}
