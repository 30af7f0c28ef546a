import { SealedReply } from '../../contract/policies.ts'
import type { Operation } from '../../kernel/index.ts'
import type { SealRule } from '../options.ts'
import type { Channel } from './channel.ts'

/** If the operation allows the channel, `requested` overrides the rule. */
export function shouldSeal(operation: Operation, rule: SealRule, requested: boolean | undefined): boolean {
  if (operation.policy.channel === 'none') return false
  if (requested !== undefined) return requested
  return rule === 'all' || (rule === 'sensitive' && isSensitive(operation))
}

export interface SealedRequest {
  headers: Record<string, string>
  body: string | Blob | FormData | null
  /** Throws unless the reply was sealed for this request. */
  open(data: unknown): Promise<unknown>
}

/** Seals the path without a proxy's prefix. Without a channel, returns the request unchanged. */
export async function sealRequest(
  channel: Channel | null,
  { method, path, requestId, reply }: { method: string; path: string; requestId: string; reply: Operation['reply'] },
  body: string | Blob | FormData | null,
): Promise<SealedRequest> {
  if (!channel) return { headers: {}, body, open: async (data) => data }
  const sealed = typeof body === 'string' ? await channel.seal(method, path, body) : null
  return {
    headers: { 'x-secure-channel-session-id': channel.sessionId, ...replyHeader(reply) },
    body: sealed ? JSON.stringify({ payload: sealed.payload }) : null,
    open: async (data) => JSON.parse(await channel.open(readPayload(data), { requestId, seq: sealed?.seq ?? null })),
  }
}

function isSensitive({ policy, body }: Operation): boolean {
  return (
    policy.stepUp === true ||
    policy.rate === 'login' ||
    policy.rate === 'password' ||
    (policy.caller === 'anonymous' && body !== 'none')
  )
}

/** Only JSON is sealed: a file is the reply as it is. */
function replyHeader(reply: Operation['reply']): Record<string, string> {
  return typeof reply === 'string' ? {} : { 'x-secure-channel-reply': 'encrypted' }
}

function readPayload(data: unknown): string {
  const sealed = SealedReply.safeParse(data)
  if (sealed.success) return sealed.data.payload
  throw new TypeError('the reply is not sealed')
}
