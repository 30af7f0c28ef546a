import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  type Instant,
  instantOf,
  type MaybePromise,
  type Portal,
  plus,
  portals,
  whenReady,
} from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'

/** Who a session belongs to; it is no good to anybody else. */
export interface ChannelOwner {
  portal: Portal
  clientHash: string
}

export interface ChannelSessions {
  open(owner: ChannelOwner, key: Uint8Array): Promise<{ sessionId: string; createdAt: Instant; expiresAt: Instant }>
  /** The session's key, or undefined where there is no such live session of this owner. */
  keyOf(sessionId: string, owner: ChannelOwner): MaybePromise<Uint8Array | undefined>
  /** Whether this sequence number is good; it is so once. */
  spend(sessionId: string, sequence: number): MaybePromise<boolean>
  /** Ends the session if it is this owner's; otherwise nothing happens. */
  close(sessionId: string, owner: ChannelOwner): Promise<void>
}

const Stored = z.object({ portal: z.enum(portals), client: z.string(), key: z.base64(), expiresAt: z.number() })

/** A session as one text of the cache tells of it; its client's hash once that has been seen, its key once it has been unsealed. */
interface Read {
  text: string
  stored: z.infer<typeof Stored>
  clientHash?: string
  key?: Uint8Array
}

const idBytes = 32
const idForm = /^[A-Za-z0-9_-]{43}$/

const sessionKey = (sessionId: string): string => `{channel:${sessionId}}:session`
const windowKey = (sessionId: string): string => `{channel:${sessionId}}:window`

/** Channel sessions lie in the cache, their keys sealed: losing one costs its client a new opening, no more. */
export const createChannelSessions = (
  { cache, clock, randomness, secretBox, digest }: IdentityPorts,
  settings: IdentitySettings['secureChannel'],
): ChannelSessions => {
  const clientDigest = (clientHash: string): string => Buffer.from(digest('client-hash', clientHash)).toString('base64')

  // Unsealing a key costs as much as opening a body with it. The text comes from the cache each time: what ended has ended.
  const lately = new LRUCache<string, Read>({ max: settings.remembered })
  const read = (sessionId: string, text: string): Read => {
    const known = lately.get(sessionId)
    if (known?.text === text) return known
    const fresh = { text, stored: Stored.parse(JSON.parse(text)) }
    lately.set(sessionId, fresh)
    return fresh
  }

  const isOf = (session: Read, clientHash: string): boolean => {
    if (session.clientHash === undefined && session.stored.client === clientDigest(clientHash))
      session.clientHash = clientHash
    return session.clientHash === clientHash
  }
  const keyIn = (sessionId: string, owner: ChannelOwner, text: string): Uint8Array | undefined => {
    const session = read(sessionId, text)
    const { portal, key, expiresAt } = session.stored
    if (portal !== owner.portal || !isOf(session, owner.clientHash)) return undefined
    if (instantOf(expiresAt) <= clock.now()) return undefined
    // A copy: what is opened lies in a pool of 64 KB, which each key that is remembered would keep.
    session.key ??= Uint8Array.from(secretBox.open('channel-session', sessionId, Buffer.from(key, 'base64')))
    return session.key
  }
  const keyOf = (sessionId: string, owner: ChannelOwner): MaybePromise<Uint8Array | undefined> => {
    if (!idForm.test(sessionId)) return undefined
    return whenReady(cache.get(sessionKey(sessionId)), (text) =>
      text === undefined ? undefined : keyIn(sessionId, owner, text),
    )
  }

  return {
    open: async (owner, key) => {
      const sessionId = Buffer.from(randomness.bytes(idBytes)).toString('base64url')
      const createdAt = clock.now()
      const expiresAt = plus(createdAt, settings.sessionTtlMs)
      const sealed = Buffer.from(secretBox.seal('channel-session', sessionId, key)).toString('base64')
      const stored = { portal: owner.portal, client: clientDigest(owner.clientHash), key: sealed, expiresAt }
      await cache.openWindow(windowKey(sessionId), settings.sessionTtlMs)
      await cache.set(sessionKey(sessionId), JSON.stringify(stored), settings.sessionTtlMs)
      return { sessionId, createdAt, expiresAt }
    },
    keyOf,
    spend: (sessionId, sequence) => cache.spend(windowKey(sessionId), sequence, settings.window),
    close: async (sessionId, owner) => {
      if ((await keyOf(sessionId, owner)) === undefined) return
      await cache.delete(sessionKey(sessionId))
      await cache.delete(windowKey(sessionId))
      lately.delete(sessionId)
    },
  }
}
