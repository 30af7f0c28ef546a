import { SealedReply } from '../../contract/policies.ts'
import type { Operation } from '../../kernel/index.ts'
import type { SealRule } from '../options.ts'
import type { Channel } from './channel.ts'

/**
 * Whether the body or the reply contains a secret: before sign-in, with a code or password, and if step-up is required.
 */
const isSensitive = ({ policy, body }: Operation): boolean =>
  policy.stepUp ||
  policy.rate === 'login' ||
  policy.rate === 'password' ||
  (policy.caller === 'anonymous' && body !== 'none')

/** Whether a call uses the secure channel. If the operation allows a channel, `requested` overrides the rule. */
export const shouldSeal = (operation: Operation, rule: SealRule, requested: boolean | undefined): boolean => {
  if (operation.policy.channel === 'none') return false
  if (requested !== undefined) return requested
  return rule === 'all' || (rule === 'sensitive' && isSensitive(operation))
}

/** A sealed request and the function that opens its reply. */
export interface SealedRequest {
  headers: Record<string, string>
  body: string | FormData | null
  /** Returns the reply's data. Throws unless it was sealed for this request. */
  open(data: unknown): Promise<unknown>
}

const readPayload = (data: unknown): string => {
  const sealed = SealedReply.safeParse(data)
  if (sealed.success) return sealed.data.payload
  throw new TypeError('the reply is not sealed')
}

/**
 * Seals a request for the path that the gateway receives, even behind a proxy. Returns the request unchanged if there
 * is no channel.
 */
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
    open: async (data) => JSON.parse(await channel.open(readPayload(data), sealed?.seq ?? null)),
  }
}
