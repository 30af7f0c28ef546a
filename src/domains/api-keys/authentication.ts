import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Database } from '../../database/index.ts'
import type { Credential, WorkspacePort } from '../../gateway/pipeline/ports.ts'
import {
  type AccountId,
  type Caller,
  type Clock,
  type Instant,
  minutes,
  type Portal,
  type Randomness,
  Refusal,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { accessOf, isAllowedFrom, statusAt } from './rules.ts'
import { type ApiKeyScope, type KeyWithCreator, keyByPrefix, recordUse } from './store.ts'

/** `ptk_<12 hex>_<43 base64url>`: the first two parts are public and identify the key; the last one is 32 random bytes. */
const shape = /^(ptk_[0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

/** An API key in a request. */
export interface PresentedKey {
  prefix: string
  secret: string
}

/** Parses a bearer token. Returns undefined if it does not have the format of an API key. */
const parseKey = (text: string): PresentedKey | undefined => {
  const [, prefix, secret] = shape.exec(text) ?? []
  return prefix === undefined || secret === undefined ? undefined : { prefix, secret }
}

/** A generated API key. */
export interface NewKey {
  prefix: string
  /** The whole key. It is returned once and never stored. */
  key: string
  last4: string
  digest: Uint8Array
}

/** Returns the keyed digest of a secret. The store holds only this. */
const keyDigest = (digest: KeyedDigest, { prefix, secret }: PresentedKey): Uint8Array =>
  digest('api-key', prefix, secret)

/** Generates a random key. */
export const generateKey = (randomness: Randomness, digest: KeyedDigest): NewKey => {
  const prefix = `ptk_${Buffer.from(randomness.bytes(6)).toString('hex')}`
  const secret = Buffer.from(randomness.bytes(32)).toString('base64url')
  const key = `${prefix}_${secret}`
  return { prefix, key, last4: key.slice(-4), digest: keyDigest(digest, { prefix, secret }) }
}

/** Precision of a key's last use. Within this time, at most one use per key is written. */
const precisionMs = minutes(1)
const maxTrackedKeys = 10_000

/** Stores the last use of each key, at most once a minute. Requests do not wait for the write. */
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
    const before = this.#recordedAt.get(key.id)
    if (before !== undefined && at - before < precisionMs) return
    this.#recordedAt.set(key.id, at)
    const writing = recordUse(this.#database, key, clientIp, at)
      .catch(this.#onFault)
      .finally(() => this.#pending.delete(writing))
    this.#pending.add(writing)
  }

  /** Waits for pending writes. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending)
  }
}

/** Rejects a client address that is not in the account's IP whitelist, if the whitelist is enabled. */
export type AssertAddressAllowed = (
  account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
  clientIp: string,
) => Promise<void>

export interface AuthenticationPorts {
  database: Database
  clock: Clock
  digest: KeyedDigest
  /** Returns the access of the key's creator to a workspace. */
  members: WorkspacePort
  assertAddressAllowed: AssertAddressAllowed
}

const denied = (internal: string): Refusal => new Refusal('ACCESS.TOKEN_INVALID', { internal })

const toCaller = (key: KeyWithCreator): Caller => ({
  accountId: key.creatorId,
  portal: key.creatorPortal,
  sessionId: null,
  apiKeyId: key.id,
  steppedUpAt: null,
  permissions: new Set(),
})

/** Checks the client address. A key with an allowlist ignores the IP whitelist of its creator. */
const assertAddress = async (ports: AuthenticationPorts, key: KeyWithCreator, clientIp: string): Promise<void> => {
  if (key.ipAllowlist.length === 0) {
    const { creatorPortal: portal, creatorId: accountId, creatorIsWhitelisted: ipWhitelistEnabled } = key
    return ports.assertAddressAllowed({ portal, accountId, ipWhitelistEnabled }, clientIp)
  }
  if (!isAllowedFrom(key.ipAllowlist, clientIp))
    throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'not on the allowlist of the API key' })
}

const readValidKey = async (
  ports: AuthenticationPorts,
  presented: PresentedKey,
  { portal, clientIp }: Credential,
): Promise<KeyWithCreator> => {
  const key = await keyByPrefix(ports.database, presented.prefix)
  if (!key) throw denied('unknown API key')
  if (!timingSafeEqual(key.digest, keyDigest(ports.digest, presented))) throw denied('wrong API key secret')
  const status = statusAt(key, ports.clock.now())
  if (status !== 'ACTIVE') throw denied(`the API key is ${status}`)
  if (key.creatorStatus !== 'ACTIVE') throw denied('the creator of the API key is not active')
  if (portal !== null && key.creatorPortal !== portal) throw denied('the API key belongs to another portal')
  await assertAddress(ports, key, clientIp)
  return key
}

/**
 * Authenticates a request as the creator of an API key, with those permissions of the key that the creator still holds.
 * Reads the store on every call.
 */
export class ApiKeyAuthentication {
  readonly #ports: AuthenticationPorts
  readonly #lastUse: LastUseRecorder

  constructor(ports: AuthenticationPorts, lastUse: LastUseRecorder) {
    this.#ports = ports
    this.#lastUse = lastUse
  }

  /** Returns undefined synchronously if the token is not an API key. Refuses an invalid key with ACCESS.TOKEN_INVALID. */
  authenticate(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess }> | undefined {
    const presented = parseKey(credential.token)
    return presented && this.#authenticateKey(presented, credential)
  }

  async #authenticateKey(presented: PresentedKey, credential: Credential) {
    const key = await readValidKey(this.#ports, presented, credential)
    const caller = toCaller(key)
    const creator = await this.#ports.members.enter(caller, key.workspaceId)
    this.#lastUse.record(key, credential.clientIp, this.#ports.clock.now())
    return { caller, workspace: accessOf(creator, key.permissionCodes) }
  }
}
