import { LRUCache } from 'lru-cache'
import { addMs, type Instant, type MaybePromise, type Portal, rateLimited } from '../../kernel/index.ts'
import type { WindowName } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type ChannelOwner, epochBytes, openSessionId, sealSessionId, windowIdBytes } from './session-id.ts'

/** An open channel session, decrypted from its id. */
export interface ChannelSession {
  key: Uint8Array
  expiresAt: Instant
  window: WindowName
}

/** Opens, reads and closes channel sessions. */
export interface ChannelSessions {
  /** Opens a session. Throws ACCESS.RATE_LIMITED if the portal has too many sessions. */
  open(owner: ChannelOwner, key: Uint8Array): Promise<{ sessionId: string; createdAt: Instant; expiresAt: Instant }>
  /** Returns the owner's session; undefined if the id is invalid or has expired. Does not check whether it is closed or lost. */
  read(sessionId: string, owner: ChannelOwner): ChannelSession | undefined
  /** Spends a sequence number. Returns false for a replay, or if the session is closed or lost. */
  spend(session: ChannelSession, sequence: number): MaybePromise<boolean>
  /** Returns false if the session is closed or lost. */
  isOpen(session: ChannelSession): MaybePromise<boolean>
  /** Closes the owner's session. Does nothing for any other id. */
  close(sessionId: string, owner: ChannelOwner): Promise<void>
}

const minuteMs = 60_000

const groupOf = (portal: Portal, minute: number): string => `{channel:${portal}:${minute}}:windows`

/** Sessions of a portal that were opened in the same minute have their replay windows in one group. */
const windowOf = (portal: Portal, minute: number, epoch: Buffer, windowId: Buffer): WindowName => ({
  group: groupOf(portal, minute),
  epoch: epoch.toString('base64url'),
  member: windowId.toString('base64url'),
})

/**
 * Creates the channel sessions. The session id contains the encrypted session, and the server stores nothing before the first
 * valid body, so that anonymous clients cannot fill the cache. Then the replay window takes up to 400 bytes per session.
 */
export const createChannelSessions = (
  { cache, clock, randomness, secretBox }: IdentityPorts,
  settings: IdentitySettings['secureChannel'],
): ChannelSessions => {
  const { sessionTtlMs, maxSessions } = settings
  // A group exists for a minute of openings, plus the lifetime of its last session.
  const maxPerMinute = Math.max(1, Math.floor(maxSessions / (Math.ceil(sessionTtlMs / minuteMs) + 1)))

  // Cached because decrypting an id takes as long as decrypting a body.
  const cached = new LRUCache<string, { owner: ChannelOwner; session: ChannelSession }>({
    max: settings.cacheSize,
  })
  const unseal = (sessionId: string, owner: ChannelOwner): ChannelSession | undefined => {
    const known = cached.get(sessionId)
    if (known)
      return known.owner.portal === owner.portal && known.owner.clientHash === owner.clientHash
        ? known.session
        : undefined
    const content = openSessionId(secretBox, owner, sessionId)
    if (!content) return undefined
    const { key, expiresAt, openedInMinute, epoch, windowId } = content
    const session = { key, expiresAt, window: windowOf(owner.portal, openedInMinute, epoch, windowId) }
    const { portal, clientHash } = owner
    cached.set(sessionId, { owner: { portal, clientHash }, session })
    return session
  }

  const read = (sessionId: string, owner: ChannelOwner): ChannelSession | undefined => {
    const session = unseal(sessionId, owner)
    return session && session.expiresAt > clock.now() ? session : undefined
  }

  return {
    open: async (owner, key) => {
      const createdAt = clock.now()
      const openedInMinute = Math.floor(createdAt / minuteMs)
      const epoch = await cache.joinGroup(groupOf(owner.portal, openedInMinute), {
        epoch: Buffer.from(randomness.bytes(epochBytes)).toString('base64url'),
        max: maxPerMinute,
        ttl: sessionTtlMs,
      })
      if (epoch === undefined)
        throw rateLimited(minuteMs - (createdAt % minuteMs), 'too many channel sessions in this minute')
      const expiresAt = addMs(createdAt, sessionTtlMs)
      const content = {
        windowId: Buffer.from(randomness.bytes(windowIdBytes)),
        epoch: Buffer.from(epoch, 'base64url'),
        ...{ key, openedInMinute, expiresAt },
      }
      return { sessionId: sealSessionId(secretBox, owner, content), createdAt, expiresAt }
    },
    read,
    spend: ({ window }, sequence) => cache.spend(window, sequence, settings.windowSize),
    isOpen: ({ window }) => cache.isOpen(window),
    close: async (sessionId, owner) => {
      const session = read(sessionId, owner)
      if (session) await cache.closeWindow(session.window)
    },
  }
}
