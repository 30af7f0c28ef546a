import { LRUCache } from 'lru-cache'
import { operatorKeyPermissions } from '../../contract/permissions.ts'
import { type Database, isDatabaseUnavailable } from '../../database/index.ts'
import {
  type AccountId,
  BatchLoader,
  type Caller,
  type Clock,
  hasWorkspaces,
  type Instant,
  minutes,
  type Portal,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { PublicJwk } from '../../platform/proofs/index.ts'
import { keyDigest, type PresentedKey, parseKey } from './credentials.ts'
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
  /** Returns the problem of an assertion that is not valid. Without it, keys with a public key are refused. */
  verifyAssertion?(assertion: string, key: { prefix: string; publicKey: PublicJwk }): Promise<string | undefined>
  /** Of the client certificate of the connection. Without it, keys with a certificate are refused. */
  certificateThumbprint?(): string | null
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
  /** Of the deployment. Keys of accounts of other portals do not work. */
  portals: readonly Portal[]
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
    await this.#renewDigest(key, presented, (...digests) => replaceOperatorDigest(database, key.bizId, ...digests))
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
    await this.#renewDigest(key, presented, (...digests) => replaceDigest(database, key, ...digests))
    const creator = await members.enter(caller, key.workspaceBizId)
    this.#lastUse.record(key, credential.clientIp, this.#ports.clock.now())
    return { caller, workspace: accessOf(creator, key.permissionCodes) }
  }

  /** Replaces a digest under a previous secret key, so that the previous key can be removed. */
  async #renewDigest(
    { secretDigest }: AuthenticatedKey,
    presented: PresentedKey,
    replace: (former: Uint8Array, renewed: Uint8Array) => Promise<void>,
  ): Promise<void> {
    const { digest } = this.#ports
    if (presented.credential !== 'SECRET' || !secretDigest || digest.isCurrent(secretDigest)) return
    try {
      await replace(secretDigest, keyDigest(digest, presented.prefix, presented.secret))
    } catch (error) {
      // A read-only store can still serve reads.
      if (!isDatabaseUnavailable(error)) throw error
    }
  }
}

/** A key of either kind. */
type AuthenticatedKey = Omit<KeyWithCreator, 'workspaceBizId' | 'bizId'> & { bizId: ApiKeyId | OperatorKeyId }

async function assertValidKey<Key extends AuthenticatedKey>(
  ports: AuthenticationPorts,
  key: Key | undefined,
  presented: PresentedKey,
  credential: Credential,
): Promise<Key> {
  const { portal, clientIp, isStreamOpen = false } = credential
  if (!key) throw denied('unknown API key')
  await assertProven(ports, key, presented, credential)
  const status = statusAt(key, ports.clock.now(), ports.settings)
  if (status !== 'ACTIVE') throw denied(`the API key is ${status}`)
  if (key.creatorStatus !== 'ACTIVE') throw denied('the creator of the API key is not active')
  const { creatorPortal } = key
  const isOfOperators = presented.kind === 'pok'
  // The creator must be a member, and so belongs to the portal of the workspace.
  if (hasWorkspaces(creatorPortal) === isOfOperators || (portal !== null && portal !== creatorPortal))
    throw denied('the API key belongs to another portal')
  if (!ports.portals.includes(creatorPortal)) throw denied('the configuration no longer has the portal of the API key')
  await assertAddress(ports, key, clientIp, isStreamOpen)
  return key
}

/** A key accepts only its own credential, even if another one would be valid. */
async function assertProven(
  { digest }: AuthenticationPorts,
  { credential, secretDigest, publicKey, credentialThumbprint }: AuthenticatedKey,
  presented: PresentedKey,
  { verifyAssertion, certificateThumbprint }: Credential,
): Promise<void> {
  const { prefix } = presented
  if (presented.credential !== credential) throw denied(`the API key needs the credential ${credential}`)
  if (presented.credential === 'SECRET') {
    if (!secretDigest || !digest.matches(secretDigest, 'api-key', prefix, presented.secret))
      throw denied('wrong API key secret')
    return
  }
  if (presented.credential === 'TLS') {
    const shown = certificateThumbprint?.() ?? null
    if (shown === null) throw denied('no client certificate from a trusted edge')
    if (shown !== credentialThumbprint) throw denied('the API key belongs to another client certificate')
    return
  }
  if (!publicKey || !verifyAssertion) throw denied('the assertion cannot be verified')
  const problem = await verifyAssertion(presented.assertion, { prefix, publicKey })
  if (problem !== undefined) throw denied(`assertion: ${problem}`)
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
