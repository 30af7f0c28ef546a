import { type Instant, type Portal, toInstant } from '../../kernel/index.ts'
import { decodeBase64url, type SecretBox, sealedOverhead } from '../../platform/crypto/index.ts'

/** No other client or portal can use the session. */
export interface ChannelOwner {
  portal: Portal
  clientHash: string
}

export interface SessionContent {
  /** 16 random bytes that identify the replay window. */
  windowId: Buffer
  /**
   * 16 random bytes of the session's group of replay windows. If the cache loses the group, it gets a new epoch, and
   * sessions of the old epoch are rejected.
   */
  epoch: Buffer
  key: Uint8Array
  openedInMinute: number
  expiresAt: Instant
}

export const windowIdBytes = 16
export const epochBytes = 16
const keyBytes = 32
const numberBytes = 6
const contentBytes = windowIdBytes + epochBytes + keyBytes + 2 * numberBytes
const idLength = Math.ceil(((contentBytes + sealedOverhead) * 4) / 3)

export function sealSessionId(secretBox: SecretBox, owner: ChannelOwner, content: SessionContent): string {
  const numbers = Buffer.alloc(2 * numberBytes)
  numbers.writeUIntBE(content.openedInMinute, 0, numberBytes)
  numbers.writeUIntBE(content.expiresAt, numberBytes, numberBytes)
  const bytes = Buffer.concat([content.windowId, content.epoch, content.key, numbers])
  return Buffer.from(secretBox.seal('channel-session', contextOf(owner), bytes)).toString('base64url')
}

/** Returns undefined for another owner's id. */
export function openSessionId(
  secretBox: SecretBox,
  owner: ChannelOwner,
  sessionId: string,
): SessionContent | undefined {
  const sealed = sessionId.length === idLength ? decodeBase64url(sessionId) : undefined
  const bytes = sealed && unseal(secretBox, owner, sealed)
  if (bytes?.length !== contentBytes) return undefined
  const [afterWindow, afterEpoch] = [windowIdBytes, windowIdBytes + epochBytes]
  const afterKey = afterEpoch + keyBytes
  return {
    windowId: bytes.subarray(0, afterWindow),
    epoch: bytes.subarray(afterWindow, afterEpoch),
    // Copy the key: a cached view would retain the whole 64 KB buffer pool.
    key: Uint8Array.from(bytes.subarray(afterEpoch, afterKey)),
    openedInMinute: bytes.readUIntBE(afterKey, numberBytes),
    expiresAt: toInstant(bytes.readUIntBE(afterKey + numberBytes, numberBytes)),
  }
}

/** Binds a session id to its owner. */
function contextOf({ portal, clientHash }: ChannelOwner): string {
  return `${portal}:${clientHash}`
}

function unseal(secretBox: SecretBox, owner: ChannelOwner, sealed: Buffer): Buffer | undefined {
  try {
    return Buffer.from(secretBox.open('channel-session', contextOf(owner), sealed))
  } catch {
    return undefined
  }
}
