import { LRUCache } from 'lru-cache'
import { addMs, type Instant, type MaybePromise, type Portal, rateLimited } from '../../kernel/index.ts'
import type { WindowName } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type ChannelOwner, epochBytes, openSessionId, sealSessionId, windowIdBytes } from './session-id.ts'

/** A session that a session id contains. */
export interface ChannelSession {
  key: Uint8Array
  expiresAt: Instant
  window: WindowName
}

export interface ChannelSessions {
  /** Opens a session and stores nothing for it. Throws ACCESS.RATE_LIMITED while the portal has too many sessions. */
  open(owner: ChannelOwner, key: Uint8Array): Promise<{ sessionId: string; createdAt: Instant; expiresAt: Instant }>
  /** The session, unless the id is not this owner's or has expired. It may be closed or lost all the same. */
  read(sessionId: string, owner: ChannelOwner): ChannelSession | undefined
  /** Spends a sequence number. Returns false if it cannot be used, or if the session is closed or lost. */
  spend(session: ChannelSession, sequence: number): MaybePromise<boolean>
  /** Whether the session is neither closed nor lost. */
  isOpen(session: ChannelSession): MaybePromise<boolean>
  /** Closes the session if it is this owner's; otherwise does nothing. */
  close(sessionId: string, owner: ChannelOwner): Promise<void>
}

const minuteMs = 60_000

const groupOf = (portal: Portal, minute: number): string => `{channel:${portal}:${minute}}:windows`

/** The replay windows of sessions of one portal that were opened in the same minute form a group. */
const windowOf = (portal: Portal, minute: number, epoch: Buffer, windowId: Buffer): WindowName => ({
  group: groupOf(portal, minute),
  epoch: epoch.toString('base64url'),
  member: windowId.toString('base64url'),
})

/**
 * A session is its id: the server keeps nothing of it before its first valid body, so that anonymous openings cannot
 * fill the cache. From then on its replay window takes up to 400 bytes until it expires.
 */
export const createChannelSessions = (
  { cache, clock, randomness, secretBox }: IdentityPorts,
  settings: IdentitySettings['secureChannel'],
): ChannelSessions => {
  const { sessionTtlMs, maxSessions } = settings
  // Groups live for a minute of openings and the life of the last one's session.
  const maxPerMinute = Math.max(1, Math.floor(maxSessions / (Math.ceil(sessionTtlMs / minuteMs) + 1)))

  // Unsealing an id costs as much as opening a body.
  const remembered = new LRUCache<string, { owner: ChannelOwner; session: ChannelSession }>({
    max: settings.remembered,
  })
  const unsealed = (sessionId: string, owner: ChannelOwner): ChannelSession | undefined => {
    const known = remembered.get(sessionId)
    if (known)
      return known.owner.portal === owner.portal && known.owner.clientHash === owner.clientHash
        ? known.session
        : undefined
    const content = openSessionId(secretBox, owner, sessionId)
    if (!content) return undefined
    const { key, expiresAt, openedInMinute, epoch, windowId } = content
    const session = { key, expiresAt, window: windowOf(owner.portal, openedInMinute, epoch, windowId) }
    const { portal, clientHash } = owner
    remembered.set(sessionId, { owner: { portal, clientHash }, session })
    return session
  }

  const read = (sessionId: string, owner: ChannelOwner): ChannelSession | undefined => {
    const session = unsealed(sessionId, owner)
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
    spend: ({ window }, sequence) => cache.spend(window, sequence, settings.window),
    isOpen: ({ window }) => cache.isOpen(window),
    close: async (sessionId, owner) => {
      const session = read(sessionId, owner)
      if (session) await cache.closeWindow(session.window)
    },
  }
}
