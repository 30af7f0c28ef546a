import type { Channel } from './channel.ts'

export interface ChannelCache {
  /** The open channel of a client hash, opened if there is none or it expires soon. */
  get(clientHash: string): Promise<Channel>
  /** Marks a channel that the gateway no longer accepts. */
  invalidate(channel: Channel): void
  /** Removes and returns the open channel, so that it can be closed. */
  take(): Promise<Channel | null>
}

/** A channel that expires this soon is not used for a new call. */
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
    // The first call to notice opens the next channel. The others wait for it and check that it has their client hash.
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
