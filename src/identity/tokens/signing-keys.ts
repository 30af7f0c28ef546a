import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, type Instant, type MaybePromise, Refusal } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import {
  deleteSigningKey,
  insertSigningKey,
  lockSigningKeys,
  readSigningKeys,
  retireSigningKeys,
  type StoredSigningKey,
} from './store.ts'

/** Ed25519, decrypted. */
export interface SigningKey {
  kid: string
  publicKey: KeyObject
  privateKey: KeyObject
  activatesAt: Instant
  retiresAt: Instant | null
}

/** Minimum milliseconds between two reads for an unknown key id. */
const rereadMs = 1_000
/** A key retires this long after the longest token lifetime has passed. */
const graceMs = 60_000

type SigningKeyPorts = Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>

export class SigningKeys {
  readonly #ports: SigningKeyPorts
  readonly #settings: IdentitySettings['tokens']
  #keys: readonly SigningKey[] = []
  #readAt: Instant | undefined
  #reading: Promise<void> | undefined

  constructor(ports: SigningKeyPorts, settings: IdentitySettings['tokens']) {
    this.#ports = ports
    this.#settings = settings
  }

  /**
   * Returns the newest active key, or the oldest accepted key if the clock is behind and no key is active yet. Adds a
   * key if the store has none.
   */
  async signing(): Promise<SigningKey> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    if (!this.#findActive()) await this.#add((stored) => stored === 0)
    const key = this.#findActive() ?? this.#keys.findLast((each) => this.#accepts(each))
    if (!key) throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'no signing key is active' })
    return key
  }

  /** Also finds a new key of another replica. */
  async verifying(kid: string): Promise<SigningKey | undefined> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    if (!this.#find(kid)) await this.#readIfOlderThan(rereadMs)
    return this.#find(kid)
  }

  /** Reads old keys again first, so that a revoked key is noticed. */
  isAccepted(kid: string): MaybePromise<boolean> {
    const { keyRefreshMs } = this.#settings
    if (this.#age() < keyRefreshMs) return this.#find(kid) !== undefined
    return this.#refreshAndFind(kid)
  }

  /**
   * The key starts to sign after the publication period. Older keys verify until their last token has expired. `record`
   * runs in the same transaction.
   */
  async rotate(record?: (tx: Tx, kid: string) => Promise<void>): Promise<string> {
    // This fails if the secret key is wrong, in which case no gateway could decrypt the new key.
    await this.#read()
    const kid = await this.#add(() => true, record)
    if (!kid) throw new Error('no signing key was added')
    return kid
  }

  /**
   * If no other key signs, adds a key that signs immediately. Returns the id of the signing key, or undefined if the
   * key does not exist. `record` runs in the same transaction.
   */
  async revoke(
    kid: string,
    record: (tx: Tx, signing: string) => Promise<void> = async () => undefined,
  ): Promise<string | undefined> {
    const { clock, database } = this.#ports
    await this.#read()
    const successor = this.#generate()
    const signing = await inTransaction(database, async (tx) => {
      await lockSigningKeys(tx)
      const now = clock.now()
      if (!(await deleteSigningKey(tx, kid))) return undefined
      const active = (await readSigningKeys(tx, now)).find(({ activatesAt }) => activatesAt <= now)
      const isKept = active !== undefined && active.retiresAt === null
      if (!isKept) await insertSigningKey(tx, { ...successor, activatesAt: now }, now)
      const signs = isKept ? active.kid : successor.kid
      await record(tx, signs)
      return signs
    })
    await this.#read()
    return signing
  }

  /** Includes keys that do not sign yet (RFC 7517, section 5). */
  async jwks(): Promise<JSONWebKeySet> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    const accepted = this.#keys.filter((key) => this.#accepts(key))
    return {
      keys: accepted.map(({ kid, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        alg: 'EdDSA',
        use: 'sig',
      })),
    }
  }

  #findActive(): SigningKey | undefined {
    return this.#keys.find((key) => key.activatesAt <= this.#ports.clock.now() && this.#accepts(key))
  }

  #find(kid: string): SigningKey | undefined {
    return this.#keys.find((key) => key.kid === kid && this.#accepts(key))
  }

  #accepts({ retiresAt }: SigningKey): boolean {
    return retiresAt === null || retiresAt > this.#ports.clock.now()
  }

  async #refreshAndFind(kid: string): Promise<boolean> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    return this.#find(kid) !== undefined
  }

  async #read(): Promise<void> {
    const now = this.#ports.clock.now()
    const stored = await readSigningKeys(this.#ports.database, now)
    this.#keys = stored.map((key) => decrypt(this.#ports, key))
    this.#readAt = now
  }

  /** Concurrent callers share a statement, because every open stream needs the keys at the same time. */
  async #readIfOlderThan(ageMs: number): Promise<void> {
    if (this.#age() < ageMs) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  #age(): number {
    return this.#readAt === undefined ? Number.POSITIVE_INFINITY : Math.abs(this.#ports.clock.now() - this.#readAt)
  }

  #generate(): Pick<StoredSigningKey, 'kid' | 'publicKey' | 'privateKey'> {
    const { ids, secretBox } = this.#ports
    const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { format: 'der', type: 'spki' },
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    })
    const kid: string = ids.next<'signingKey'>()
    return { kid, publicKey, privateKey: secretBox.seal('signing-key', kid, privateKey) }
  }

  /**
   * `isNeeded` gets the number of stored keys.
   */
  async #add(
    isNeeded: (stored: number) => boolean,
    record: (tx: Tx, kid: string) => Promise<void> = async () => undefined,
  ): Promise<string | undefined> {
    const { clock, database } = this.#ports
    const key = this.#generate()
    const isAdded = await inTransaction(database, async (tx) => {
      await lockSigningKeys(tx)
      const now = clock.now()
      const stored = (await readSigningKeys(tx, now)).length
      if (!isNeeded(stored)) return false
      // No other key can sign.
      const activatesAt = stored === 0 ? now : addMs(now, this.#settings.keyPublicationMs)
      await retireSigningKeys(tx, this.#retirementAfter(activatesAt), now)
      await insertSigningKey(tx, { ...key, activatesAt }, now)
      await record(tx, key.kid)
      return true
    })
    await this.#read()
    return isAdded ? key.kid : undefined
  }

  /** Returns the time at which older keys retire if the next key starts to sign at `activatesAt`. */
  #retirementAfter(activatesAt: Instant): Instant {
    const { accessTtlMs, assertionTtlMs, clockSkewMs, keyRefreshMs } = this.#settings
    const lastUse = addMs(activatesAt, keyRefreshMs + clockSkewMs)
    return addMs(lastUse, Math.max(accessTtlMs, assertionTtlMs) + graceMs)
  }
}

function decrypt({ secretBox }: SigningKeyPorts, key: StoredSigningKey): SigningKey {
  return {
    ...key,
    publicKey: createPublicKey({ key: Buffer.from(key.publicKey), format: 'der', type: 'spki' }),
    privateKey: createPrivateKey({
      key: Buffer.from(secretBox.open('signing-key', key.kid, key.privateKey)),
      format: 'der',
      type: 'pkcs8',
    }),
  }
}
