import { isRecord } from '../../kernel/index.ts'
import { decryptDirect, encryptDirect } from './jwe.ts'

interface Sealed {
  payload: string
  /** The body's number, good once. */
  seq: number
}

/** An open session of the secure channel. */
export interface Channel {
  sessionId: string
  /** X-Client-Hash that the session is bound to. */
  clientHash: string
  /** Epoch milliseconds by this client's clock. */
  expiresAt: number
  seal(method: string, path: string, text: string): Promise<Sealed>
  /** The text of a reply to the body with this number, or to a call without a body. Throws for any other reply. */
  open(payload: string, seq: number | null): Promise<string>
}

const isReplyTo = (header: unknown, sessionId: string, seq: number | null): boolean => {
  if (!isRecord(header)) return false
  const { alg, enc, kid, seq: answered = null } = header
  return alg === 'dir' && enc === 'A256GCM' && kid === sessionId && answered === seq
}

export const createChannel = (
  { sessionId, clientHash, expiresAt }: Pick<Channel, 'sessionId' | 'clientHash' | 'expiresAt'>,
  key: CryptoKey,
): Channel => {
  let last = 0
  return {
    sessionId,
    clientHash,
    expiresAt,
    seal: async (htm, htu, text) => {
      last += 1
      const seq = last
      const payload = await encryptDirect({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, htm, htu }, key, text)
      return { payload, seq }
    },
    open: async (payload, seq) => {
      const { header, text } = await decryptDirect(payload, key)
      if (!isReplyTo(header, sessionId, seq)) throw new TypeError('the sealed reply answers something else')
      return text
    },
  }
}
