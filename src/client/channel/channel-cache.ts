import type { Channel } from './channel.ts'

export interface ChannelCache {
  /** The open channel of a client hash; opened where there is none or its time is up. */
  get(clientHash: string): Promise<Channel>
  /** This channel is of no use any more. */
  invalidate(channel: Channel): void
  /** Hands over the channel, if one is open, for its end. */
  take(): Promise<Channel | null>
}

/** A channel that ends this soon is not begun with. */
const marginMs = 5_000

/** Keeps one channel open for all calls of a client, however many ask for it at once. */
export const createChannelCache = (open: (clientHash: string) => Promise<Channel>, now: () => number): ChannelCache => {
  const dropped = new WeakSet<Channel>()
  let kept: Promise<Channel> | null = null

  const begin = (clientHash: string): Promise<Channel> => {
    const opening = open(clientHash)
    kept = opening
    opening.catch(() => {
      if (kept === opening) kept = null
    })
    return opening
  }

  const serves = (channel: Channel, clientHash: string): boolean =>
    !dropped.has(channel) && channel.clientHash === clientHash && channel.expiresAt - marginMs > now()

  const current = async (clientHash: string): Promise<Channel> => {
    if (!kept) return begin(clientHash)
    const opening = kept
    const channel = await opening
    if (serves(channel, clientHash)) return channel
    // Whoever notices first begins the next one; the others wait for it, and see whether it is theirs.
    return kept === opening ? begin(clientHash) : current(clientHash)
  }

  return {
    get: current,
    invalidate: (channel) => {
      dropped.add(channel)
    },
    take: async () => {
      const opening = kept
      kept = null
      return opening ? opening.catch(() => null) : null
    },
  }
}
