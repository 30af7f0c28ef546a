import { isRecord } from '../../kernel/index.ts'
import { decryptJwe, encryptJwe } from './jwe.ts'

interface SealedText {
  payload: string
  /** Sequence number, which can be used once. */
  seq: number
}

interface SentRequest {
  requestId: string
  /** Null without a sealed body. */
  seq: number | null
}

export interface Channel {
  sessionId: string
  /** The session is bound to this X-Client-Hash. */
  clientHash: string
  /** Epoch milliseconds by this client's clock. */
  expiresAt: number
  seal(method: string, path: string, text: string): Promise<SealedText>
  /** Throws unless the text is the reply to this request. */
  open(payload: string, request: SentRequest): Promise<string>
}

export function createChannel(
  { sessionId, clientHash, expiresAt }: Pick<Channel, 'sessionId' | 'clientHash' | 'expiresAt'>,
  key: CryptoKey,
): Channel {
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
    open: async (payload, request) => {
      const { header, text } = await decryptJwe(payload, key)
      if (!isReplyTo(header, sessionId, request)) throw new TypeError('the sealed reply belongs to another request')
      return text
    },
  }
}

export interface ChannelCache {
  /** Opens a channel if there is none or it expires soon. */
  get(clientHash: string): Promise<Channel>
  invalidate(channel: Channel): void
  /** Removes the channel from the cache, to close it. */
  take(): Promise<Channel | null>
}

/** Minimum remaining lifetime for a new call. */
const marginMs = 5_000

/** Concurrent calls share one opening. */
export function createChannelCache(open: (clientHash: string) => Promise<Channel>, now: () => number): ChannelCache {
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
    // Other calls wait for the first one's channel, and check its client hash.
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

function isReplyTo(header: unknown, sessionId: string, { requestId, seq }: SentRequest): boolean {
  if (!isRecord(header)) return false
  const { alg, enc, kid, msg, rid, seq: replySeq = null } = header
  const isReply = alg === 'dir' && enc === 'A256GCM' && kid === sessionId && msg === 'reply'
  return isReply && rid === requestId && replySeq === seq
}
