import { isRecord } from '../../kernel/index.ts'
import { decryptJwe, encryptJwe } from './jwe.ts'

interface SealedText {
  payload: string
  /** The body's sequence number. It is valid once. */
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
  /** Returns the text of the reply to the body with this number, or to a call without a body. Throws for any other reply. */
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

export interface ChannelCache {
  /** Returns the open channel of a client hash. Opens one if there is none or it expires soon. */
  get(clientHash: string): Promise<Channel>
  /** Marks a channel as no longer accepted by the gateway. */
  invalidate(channel: Channel): void
  /** Removes and returns the open channel, so that it can be closed. */
  take(): Promise<Channel | null>
}

/** A channel that expires within this time is not used for a new call. */
const marginMs = 5_000

/** Caches one channel for all calls of a client. Concurrent calls share its opening. */
export const createChannelCache = (open: (clientHash: string) => Promise<Channel>, now: () => number): ChannelCache => {
  const invalid = new WeakSet<Channel>()
  let cached: Promise<Channel> | null = null

  const openAndCache = (clientHash: string): Promise<Channel> => {
    const opening = open(clientHash)
    cached = opening
    opening.catch(() => {
      if (cached === opening) cached = null
    })
    return opening
  }

  const isUsable = (channel: Channel, clientHash: string): boolean =>
    !invalid.has(channel) && channel.clientHash === clientHash && channel.expiresAt - marginMs > now()

  const get = async (clientHash: string): Promise<Channel> => {
    if (!cached) return openAndCache(clientHash)
    const opening = cached
    const channel = await opening
    if (isUsable(channel, clientHash)) return channel
    // The first call that notices the expiry opens the next channel. Other calls wait for it and check that it has
    // their client hash.
    return cached === opening ? openAndCache(clientHash) : get(clientHash)
  }

  return {
    get,
    invalidate: (channel) => {
      invalid.add(channel)
    },
    take: async () => {
      const opening = cached
      cached = null
      return opening ? opening.catch(() => null) : null
    },
  }
}
