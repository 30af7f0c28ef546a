import { isRecord } from '../../kernel/index.ts'
import { decryptJwe, encryptJwe } from './jwe.ts'

interface SealedText {
  payload: string
  /** The body's sequence number, valid once. */
  seq: number
}

/** An open channel session. */
export interface Channel {
  sessionId: string
  /** X-Client-Hash that the channel session is bound to. */
  clientHash: string
  /** Epoch milliseconds by this client's clock. */
  expiresAt: number
  seal(method: string, path: string, text: string): Promise<SealedText>
  /** The text of the reply to the body with this number, or to a call without a body. Throws for any other reply. */
  open(payload: string, seq: number | null): Promise<string>
}

const isReplyTo = (header: unknown, sessionId: string, seq: number | null): boolean => {
  if (!isRecord(header)) return false
  const { alg, enc, kid, seq: replySeq = null } = header
  return alg === 'dir' && enc === 'A256GCM' && kid === sessionId && replySeq === seq
}

export const createChannel = (
  { sessionId, clientHash, expiresAt }: Pick<Channel, 'sessionId' | 'clientHash' | 'expiresAt'>,
  key: CryptoKey,
): Channel => {
  let lastSeq = 0
  return {
    sessionId,
    clientHash,
    expiresAt,
    seal: async (htm, htu, text) => {
      lastSeq += 1
      const seq = lastSeq
      const payload = await encryptJwe({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, htm, htu }, key, text)
      return { payload, seq }
    },
    open: async (payload, seq) => {
      const { header, text } = await decryptJwe(payload, key)
      if (!isReplyTo(header, sessionId, seq)) throw new TypeError('the sealed reply belongs to another request')
      return text
    },
  }
}
