import { LRUCache } from 'lru-cache'
import { operatorKeyPermissions } from '../../contract/permissions.ts'
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
import {
  type OperatorKeyId,
  operatorKeyByPrefix,
  recordOperatorUse,
  replaceOperatorDigest,
} from './operator-keys/store.ts'
import {
  type ApiKeySettings,
  accessOf,
  isAllowedFrom,
  operatorKeySettings,
  replacesWhitelist,
  statusAt,
} from './rules.ts'
import {
  type ApiKeyId,
  type ApiKeyScope,
  type KeyWithCreator,
  keyByPrefix,
  keysByPrefixes,
  recordUse,
  replaceDigest,
} from './store.ts'

/** The first part identifies the key and its owner kind, and is public. The second part is 32 random bytes. */
const shape = /^((ptk|pok)_[0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

/** Keys of a workspace, and keys of operators. */
export type KeyKind = 'ptk' | 'pok'

export interface PresentedKey {
  kind: KeyKind
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

export function generateKey(kind: KeyKind, randomness: Randomness, digest: KeyedDigest): NewKey {
  const prefix = `${kind}_${Buffer.from(randomness.bytes(6)).toString('hex')}`
  const secret = Buffer.from(randomness.bytes(32)).toString('base64url')
  const key = `${prefix}_${secret}`
  const secretDigest = keyDigest(digest, { kind, prefix, secret })
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

  record(key: ApiKeyScope | { bizId: OperatorKeyId }, clientIp: string, at: Instant): void {
    const before = this.#recordedAt.get(key.bizId)
    if (before !== undefined && at - before < precisionMs) return
    this.#recordedAt.set(key.bizId, at)
    const written =
      'workspaceBizId' in key
        ? recordUse(this.#database, key, clientIp, at)
        : recordOperatorUse(this.#database, key.bizId, clientIp, at)
    const writing = written.catch(this.#onFault).finally(() => this.#pending.delete(writing))
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

  /**
   * Returns undefined synchronously for other tokens. Throws ACCESS.TOKEN_INVALID for an invalid key. Keys of operators
   * have no workspace.
   */
  authenticate(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess | null }> | undefined {
    const presented = parseKey(credential.token)
    if (!presented) return undefined
    return presented.kind === 'pok'
      ? this.#authenticateOperatorKey(presented, credential)
      : this.#authenticateKey(presented, credential)
  }

  async #authenticateOperatorKey(presented: PresentedKey, credential: Credential) {
    const { database, settings } = this.#ports
    const found = await operatorKeyByPrefix(database, presented.prefix)
    const ports = { ...this.#ports, settings: operatorKeySettings(settings) }
    const key = await assertValidKey(ports, found, presented, credential)
    await this.#renewDigest(key, presented, (renewed) => replaceOperatorDigest(database, key, renewed))
    this.#lastUse.record(key, credential.clientIp, ports.clock.now())
    const held = operatorKeyPermissions.filter(
      (code) => key.permissionCodes.includes(code) && key.creatorPermissions.includes(code),
    )
    return { caller: { ...toCaller(key), permissions: new Set(held) }, workspace: null }
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
    await this.#renewDigest(key, presented, (renewed) => replaceDigest(database, key, renewed))
    const creator = await members.enter(caller, key.workspaceBizId)
    this.#lastUse.record(key, credential.clientIp, this.#ports.clock.now())
    return { caller, workspace: accessOf(creator, key.permissionCodes) }
  }

  /** Replaces a digest under a previous secret key, so that the previous key can be removed. */
  async #renewDigest(
    { secretDigest }: AuthenticatedKey,
    presented: PresentedKey,
    replace: (renewed: Uint8Array) => Promise<void>,
  ): Promise<void> {
    const { digest } = this.#ports
    if (digest.isCurrent(secretDigest)) return
    try {
      await replace(keyDigest(digest, presented))
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
  const [, prefix, kind, secret] = shape.exec(text) ?? []
  if (prefix === undefined || secret === undefined) return undefined
  return { kind: kind === 'pok' ? 'pok' : 'ptk', prefix, secret }
}

/** A key of either kind. */
type AuthenticatedKey = Omit<KeyWithCreator, 'workspaceBizId' | 'bizId'> & { bizId: ApiKeyId | OperatorKeyId }

async function assertValidKey<Key extends AuthenticatedKey>(
  ports: AuthenticationPorts,
  key: Key | undefined,
  presented: PresentedKey,
  { portal, clientIp, isStreamOpen = false }: Credential,
): Promise<Key> {
  if (!key) throw denied('unknown API key')
  if (!ports.digest.matches(key.secretDigest, 'api-key', presented.prefix, presented.secret))
    throw denied('wrong API key secret')
  const status = statusAt(key, ports.clock.now(), ports.settings)
  if (status !== 'ACTIVE') throw denied(`the API key is ${status}`)
  if (key.creatorStatus !== 'ACTIVE') throw denied('the creator of the API key is not active')
  const ownPortal: Portal = presented.kind === 'pok' ? 'SYSTEM' : 'CONSUMER'
  if (key.creatorPortal !== ownPortal || (portal !== null && portal !== ownPortal))
    throw denied('the API key belongs to another portal')
  await assertAddress(ports, key, clientIp, isStreamOpen)
  return key
}

function denied(internal: string): Refusal {
  return new Refusal('ACCESS.TOKEN_INVALID', { internal })
}

async function assertAddress(
  ports: AuthenticationPorts,
  key: AuthenticatedKey,
  clientIp: string,
  isStreamOpen: boolean,
): Promise<void> {
  const { ipAllowlist, creatorPortal: portal, creatorId: accountId, creatorIsWhitelisted: ipWhitelistEnabled } = key
  if (ipAllowlist.length > 0 && !isAllowedFrom(ipAllowlist, clientIp))
    throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'not on the allowlist of the API key' })
  if (!replacesWhitelist(key, ports.settings))
    return ports.assertAddressAllowed({ portal, accountId, ipWhitelistEnabled }, clientIp, isStreamOpen)
}

function toCaller(key: AuthenticatedKey): Caller {
  return {
    accountId: key.creatorId,
    portal: key.creatorPortal,
    sessionId: null,
    apiKeyId: key.bizId,
    steppedUpAt: null,
    permissions: new Set(),
  }
}
