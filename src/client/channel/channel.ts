import { isRecord } from '../../kernel/index.ts'
import type { CallableOperation } from '../portal/operation.ts'
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

export interface SealedRequest {
  headers: Record<string, string>
  body: string | Blob | FormData | null
  /** Throws unless the reply was sealed for this request. */
  open(data: unknown): Promise<unknown>
}

export interface PlainRequest {
  method: string
  /** Without a proxy's prefix. */
  path: string
  requestId: string
  reply: CallableOperation['reply']
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
  sealRequest(request: PlainRequest, body: SealedRequest['body']): Promise<SealedRequest>
}

export function createChannel(
  { sessionId, clientHash, expiresAt }: Pick<Channel, 'sessionId' | 'clientHash' | 'expiresAt'>,
  key: CryptoKey,
): Channel {
  let lastSeq = 0
  const channel: Channel = {
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
    sealRequest: (request, body) => sealRequest(channel, request, body),
  }
  return channel
}

export async function sealRequest(
  channel: Pick<Channel, 'sessionId' | 'seal' | 'open'>,
  { method, path, requestId, reply }: PlainRequest,
  body: SealedRequest['body'],
): Promise<SealedRequest> {
  const sealed = typeof body === 'string' ? await channel.seal(method, path, body) : null
  return {
    headers: { 'x-secure-channel-session-id': channel.sessionId, ...replyHeader(reply) },
    body: sealed ? JSON.stringify({ payload: sealed.payload }) : null,
    open: async (data) => JSON.parse(await channel.open(readPayload(data), { requestId, seq: sealed?.seq ?? null })),
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

/** Only JSON is sealed: a file is the reply as it is. */
function replyHeader(reply: CallableOperation['reply']): Record<string, string> {
  return typeof reply === 'string' ? {} : { 'x-secure-channel-reply': 'encrypted' }
}

function readPayload(data: unknown): string {
  if (isRecord(data) && typeof data.payload === 'string') return data.payload
  throw new TypeError('the reply is not sealed')
}
