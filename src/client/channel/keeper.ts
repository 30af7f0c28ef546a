import type { Channel } from './channel.ts'

export interface ChannelKeeper {
  /** The open channel; opened where there is none or its time is up. */
  current(): Promise<Channel>
  /** This channel is of no use any more. */
  drop(channel: Channel): void
  /** Hands over the channel, if one is open, for its end. */
  take(): Promise<Channel | null>
}

/** A channel that ends this soon is not begun with. */
const marginMs = 5_000

/** Keeps one channel open for all calls of a client, however many ask for it at once. */
export const createChannelKeeper = (open: () => Promise<Channel>, now: () => number): ChannelKeeper => {
  const dropped = new WeakSet<Channel>()
  let kept: Promise<Channel> | null = null

  const begin = (): Promise<Channel> => {
    const opening = open()
    kept = opening
    opening.catch(() => {
      if (kept === opening) kept = null
    })
    return opening
  }

  const current = async (): Promise<Channel> => {
    if (!kept) return begin()
    const opening = kept
    const channel = await opening
    if (!dropped.has(channel) && channel.expiresAt - marginMs > now()) return channel
    // Whoever notices first begins the next one; the others wait for it.
    return kept && kept !== opening ? kept : begin()
  }

  return {
    current,
    drop: (channel) => {
      dropped.add(channel)
    },
    take: async () => {
      const opening = kept
      kept = null
      return opening ? opening.catch(() => null) : null
    },
  }
}
