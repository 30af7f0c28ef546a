import { LRUCache } from 'lru-cache'
import { type Database, isDatabaseUnavailable } from '../../database/index.ts'
import {
  type AccountId,
  BatchLoader,
  type Caller,
  type Clock,
  type Instant,
  minutes,
  type Portal,
  type Randomness,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { type ApiKeySettings, accessOf, isAllowedFrom, replacesWhitelist, statusAt } from './rules.ts'
import {
  type ApiKeyScope,
  type KeyWithCreator,
  keyByPrefix,
  keysByPrefixes,
  recordUse,
  replaceDigest,
} from './store.ts'

/** The first part identifies the key and is public. The second part is 32 random bytes. */
const shape = /^(ptk_[0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

export interface PresentedKey {
  prefix: string
  secret: string
}

export interface NewKey {
  keyPrefix: string
  /** Returned once and never stored. */
  key: string
  keyLast4: string
  secretDigest: Uint8Array
}

export function generateKey(randomness: Randomness, digest: KeyedDigest): NewKey {
  const prefix = `ptk_${Buffer.from(randomness.bytes(6)).toString('hex')}`
  const secret = Buffer.from(randomness.bytes(32)).toString('base64url')
  const key = `${prefix}_${secret}`
  const secretDigest = keyDigest(digest, { prefix, secret })
  return { keyPrefix: prefix, key, keyLast4: key.slice(-4), secretDigest }
}

/** Minimum time between two writes of a key's last use. */
const precisionMs = minutes(1)
const maxTrackedKeys = 10_000

/** Requests do not wait for the write. */
export class LastUseRecorder {
  readonly #database: Database
  readonly #onFault: (error: unknown) => void
  readonly #recordedAt = new LRUCache<string, Instant>({ max: maxTrackedKeys })
  readonly #pending = new Set<Promise<void>>()

  constructor(database: Database, onFault: (error: unknown) => void) {
    this.#database = database
    this.#onFault = onFault
  }

  record(key: ApiKeyScope, clientIp: string, at: Instant): void {
    const before = this.#recordedAt.get(key.bizId)
    if (before !== undefined && at - before < precisionMs) return
    this.#recordedAt.set(key.bizId, at)
    const writing = recordUse(this.#database, key, clientIp, at)
      .catch(this.#onFault)
      .finally(() => this.#pending.delete(writing))
    this.#pending.add(writing)
  }

  async settle(): Promise<void> {
    await Promise.all(this.#pending)
  }
}

export interface Credential {
  token: string
  /** Null on the self chain, where the token determines the portal. */
  portal: Portal | null
  clientIp: string
  /** The look-ups of open streams share statements, and a check is not recorded as a use. */
  isStreamOpen?: boolean | undefined
}

export type AssertAddressAllowed = (
  account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
  clientIp: string,
  isStreamOpen: boolean,
) => Promise<void>

export interface AuthenticationPorts {
  database: Database
  clock: Clock
  digest: KeyedDigest
  settings: ApiKeySettings
  members: {
    enter(caller: Caller, workspaceId: string): Promise<WorkspaceAccess>
    stay(caller: Caller, workspaceId: WorkspaceId): Promise<WorkspaceAccess>
  }
  assertAddressAllowed: AssertAddressAllowed
}

/**
 * A request acts as the key's creator, with those permissions of the key that the creator still holds. Reads the store
 * on every call.
 */
export class ApiKeyAuthentication {
  readonly #ports: AuthenticationPorts
  readonly #lastUse: LastUseRecorder
  readonly #ofStreams: BatchLoader<string, KeyWithCreator>

  constructor(ports: AuthenticationPorts, lastUse: LastUseRecorder) {
    this.#ports = ports
    this.#lastUse = lastUse
    this.#ofStreams = new BatchLoader(
      (prefix: string) => prefix,
      async (prefixes) => {
        const keys = await keysByPrefixes(ports.database, prefixes)
        return new Map(keys.map((key) => [key.keyPrefix, key]))
      },
    )
  }

  /** Returns undefined synchronously for other tokens. Throws ACCESS.TOKEN_INVALID for an invalid key. */
  authenticate(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess }> | undefined {
    const presented = parseKey(credential.token)
    return presented && this.#authenticateKey(presented, credential)
  }

  async #authenticateKey(presented: PresentedKey, credential: Credential) {
    const { isStreamOpen = false } = credential
    const { database, members } = this.#ports
    const found = isStreamOpen
      ? await this.#ofStreams.load(presented.prefix)
      : await keyByPrefix(database, presented.prefix)
    const key = await assertValidKey(this.#ports, found, presented, credential)
    const caller = toCaller(key)
    if (isStreamOpen)
      return { caller, workspace: accessOf(await members.stay(caller, key.workspaceBizId), key.permissionCodes) }
    await this.#renewDigest(key, presented)
    const creator = await members.enter(caller, key.workspaceBizId)
    this.#lastUse.record(key, credential.clientIp, this.#ports.clock.now())
    return { caller, workspace: accessOf(creator, key.permissionCodes) }
  }

  /** Replaces a digest under a previous secret key, so that the previous key can be removed. */
  async #renewDigest(key: KeyWithCreator, presented: PresentedKey): Promise<void> {
    const { database, digest } = this.#ports
    if (digest.isCurrent(key.secretDigest)) return
    try {
      await replaceDigest(database, key, keyDigest(digest, presented))
    } catch (error) {
      // A read-only store can still serve reads.
      if (!isDatabaseUnavailable(error)) throw error
    }
  }
}

function keyDigest(digest: KeyedDigest, { prefix, secret }: PresentedKey): Uint8Array {
  return digest('api-key', prefix, secret)
}

function parseKey(text: string): PresentedKey | undefined {
  const [, prefix, secret] = shape.exec(text) ?? []
  return prefix === undefined || secret === undefined ? undefined : { prefix, secret }
}

async function assertValidKey(
  ports: AuthenticationPorts,
  key: KeyWithCreator | undefined,
  presented: PresentedKey,
  { portal, clientIp, isStreamOpen = false }: Credential,
): Promise<KeyWithCreator> {
  if (!key) throw denied('unknown API key')
  if (!ports.digest.matches(key.secretDigest, 'api-key', presented.prefix, presented.secret))
    throw denied('wrong API key secret')
  const status = statusAt(key, ports.clock.now(), ports.settings)
  if (status !== 'ACTIVE') throw denied(`the API key is ${status}`)
  if (key.creatorStatus !== 'ACTIVE') throw denied('the creator of the API key is not active')
  if (portal !== null && key.creatorPortal !== portal) throw denied('the API key belongs to another portal')
  await assertAddress(ports, key, clientIp, isStreamOpen)
  return key
}

function denied(internal: string): Refusal {
  return new Refusal('ACCESS.TOKEN_INVALID', { internal })
}

async function assertAddress(
  ports: AuthenticationPorts,
  key: KeyWithCreator,
  clientIp: string,
  isStreamOpen: boolean,
): Promise<void> {
  const { ipAllowlist, creatorPortal: portal, creatorId: accountId, creatorIsWhitelisted: ipWhitelistEnabled } = key
  if (ipAllowlist.length > 0 && !isAllowedFrom(ipAllowlist, clientIp))
    throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'not on the allowlist of the API key' })
  if (!replacesWhitelist(key, ports.settings))
    return ports.assertAddressAllowed({ portal, accountId, ipWhitelistEnabled }, clientIp, isStreamOpen)
}

function toCaller(key: KeyWithCreator): Caller {
  return {
    accountId: key.creatorId,
    portal: key.creatorPortal,
    sessionId: null,
    apiKeyId: key.bizId,
    steppedUpAt: null,
    permissions: new Set(),
  }
}
