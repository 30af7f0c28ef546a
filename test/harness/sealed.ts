import { randomUUID } from 'node:crypto'
import { createChannel } from '../../src/client/channel/channel.ts'
import { wrapSessionKey } from '../../src/client/channel/handshake.ts'
import type { Answer, Call } from './http.ts'

type Caller = (method: string, path: string, call?: Call) => Promise<Answer>

/** Opens a channel, and returns a caller that encrypts the body of a POST and decrypts its reply. */
export async function openSealed(
  call: Caller,
): Promise<(path: string, call: Call, reply?: 'plain') => Promise<Answer>> {
  const clientHash = 'test-client-hash'
  const { data, timestamp } = (await call('GET', '/web/v1/consumer/secure-channel/public-key')).body
  const { payload, key } = await wrapSessionKey({ ...data, clientHash, iat: Math.floor(timestamp / 1_000) })
  const opened = await call('POST', '/web/v1/consumer/secure-channel/session', { body: { payload } })
  const { sessionId } = opened.body.data
  const channel = createChannel({ sessionId, clientHash, expiresAt: 0 }, key)
  return async (path, { headers, body, ...more }, reply) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const { payload: sealed, seq } = await channel.seal('POST', path, text)
    const sent: Record<string, string | null> = {
      'x-request-id': randomUUID(),
      'x-secure-channel-session-id': sessionId,
      'x-secure-channel-reply': reply === 'plain' ? null : 'encrypted',
      ...headers,
    }
    const answer = await call('POST', path, { ...more, headers: sent, body: { payload: sealed } })
    if (answer.status !== 200 || reply === 'plain') return answer
    const requestId = String(sent['x-request-id'])
    const opened = await channel.open(answer.body.data.payload, { requestId, seq })
    return { ...answer, text: opened, body: { ...answer.body, data: JSON.parse(opened) } }
  }
}
