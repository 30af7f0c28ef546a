import { LRUCache } from 'lru-cache'
import { addMs, type Instant, type MaybePromise, type Portal, rateLimited } from '../../kernel/index.ts'
import type { WindowName } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type ChannelOwner, epochBytes, openSessionId, sealSessionId, windowIdBytes } from './session-id.ts'

export interface ChannelSession {
  key: Uint8Array
  expiresAt: Instant
  window: WindowName
}

const minuteMs = 60_000

/**
 * The session id contains the encrypted session. The server stores nothing before the first valid body, so that
 * anonymous clients cannot fill the cache. Then the replay window takes up to 400 bytes.
 */
export class ChannelSessions {
  readonly #ports: Pick<IdentityPorts, 'cache' | 'clock' | 'randomness' | 'secretBox'>
  readonly #settings: IdentitySettings['secureChannel']
  readonly #maxPerMinute: number
  /** Decrypting an id takes as long as decrypting a body. */
  readonly #cached: LRUCache<string, { owner: ChannelOwner; session: ChannelSession }>

  constructor(ports: IdentityPorts, settings: IdentitySettings['secureChannel']) {
    this.#ports = ports
    this.#settings = settings
    // A group lasts for one minute plus the lifetime of its last session.
    const maxGroups = Math.ceil(settings.sessionTtlMs / minuteMs) + 1
    this.#maxPerMinute = Math.max(1, Math.floor(settings.maxSessions / maxGroups))
    this.#cached = new LRUCache({ max: settings.cacheSize })
  }

  /** Throws ACCESS.RATE_LIMITED if the portal has too many sessions. */
  async open(
    owner: ChannelOwner,
    key: Uint8Array,
  ): Promise<{ sessionId: string; createdAt: Instant; expiresAt: Instant }> {
    const { cache, clock, randomness, secretBox } = this.#ports
    const { sessionTtlMs } = this.#settings
    const createdAt = clock.now()
    const openedInMinute = Math.floor(createdAt / minuteMs)
    const epoch = await cache.joinGroup(groupOf(owner.portal, openedInMinute), {
      epoch: Buffer.from(randomness.bytes(epochBytes)).toString('base64url'),
      max: this.#maxPerMinute,
      ttl: sessionTtlMs,
    })
    if (epoch === undefined)
      throw rateLimited(minuteMs - (createdAt % minuteMs), 'too many channel sessions in this minute')
    const expiresAt = addMs(createdAt, sessionTtlMs)
    const windowId = Buffer.from(randomness.bytes(windowIdBytes))
    const content = { windowId, epoch: Buffer.from(epoch, 'base64url'), key, openedInMinute, expiresAt }
    return { sessionId: sealSessionId(secretBox, owner, content), createdAt, expiresAt }
  }

  /** Does not check whether the session was closed or the cache has lost its replay window. */
  read(sessionId: string, owner: ChannelOwner): ChannelSession | undefined {
    const session = this.#decrypt(sessionId, owner)
    return session && session.expiresAt > this.#ports.clock.now() ? session : undefined
  }

  /** Returns false for a used number, a closed session, or a lost replay window. */
  spend({ window }: ChannelSession, sequence: number): MaybePromise<boolean> {
    return this.#ports.cache.spend(window, sequence, this.#settings.windowSize)
  }

  /** Returns false for a closed session or a lost replay window. */
  isOpen({ window }: ChannelSession): MaybePromise<boolean> {
    return this.#ports.cache.isOpen(window)
  }

  async close(sessionId: string, owner: ChannelOwner): Promise<void> {
    const session = this.read(sessionId, owner)
    if (session) await this.#ports.cache.closeWindow(session.window)
  }

  #decrypt(sessionId: string, { portal, clientHash }: ChannelOwner): ChannelSession | undefined {
    const cached = this.#cached.get(sessionId)
    if (cached)
      return cached.owner.portal === portal && cached.owner.clientHash === clientHash ? cached.session : undefined
    const owner = { portal, clientHash }
    const content = openSessionId(this.#ports.secretBox, owner, sessionId)
    if (!content) return undefined
    const { key, expiresAt, openedInMinute, epoch, windowId } = content
    const session = { key, expiresAt, window: windowOf(portal, openedInMinute, epoch, windowId) }
    this.#cached.set(sessionId, { owner, session })
    return session
  }
}

function groupOf(portal: Portal, minute: number): string {
  return `{channel:${portal}:${minute}}:windows`
}

/** Sessions of the same portal and minute share a group. */
function windowOf(portal: Portal, minute: number, epoch: Buffer, windowId: Buffer): WindowName {
  return {
    group: groupOf(portal, minute),
    epoch: epoch.toString('base64url'),
    member: windowId.toString('base64url'),
  }
}
