import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, type Instant, Refusal } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import {
  insertSigningKey,
  lockSigningKeys,
  readSigningKeys,
  retireSigningKeys,
  type StoredSigningKey,
} from './store.ts'

/** A decrypted signing key (Ed25519). */
export interface SigningKey {
  kid: string
  publicKey: KeyObject
  privateKey: KeyObject
  activatesAt: Instant
  retiresAt: Instant | null
}

/** Minimum interval between two reads because of an unknown key id. */
const rereadMs = 1_000
/** Added to the longest token lifetime before a key retires. */
const graceMs = 60_000

/** The ports of signing keys. The command line has no other identity ports. */
type SigningKeyPorts = Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>

const decrypt = ({ secretBox }: SigningKeyPorts, key: StoredSigningKey): SigningKey => ({
  ...key,
  publicKey: createPublicKey({ key: Buffer.from(key.publicKey), format: 'der', type: 'spki' }),
  privateKey: createPrivateKey({
    key: Buffer.from(secretBox.open('signing-key', key.kid, key.privateKey)),
    format: 'der',
    type: 'pkcs8',
  }),
})

/** The signing keys of all replicas, cached in memory. They are read on first use. */
export class SigningKeys {
  readonly #ports: SigningKeyPorts
  readonly #settings: IdentitySettings['tokens']
  #keys: readonly SigningKey[] = []
  #readAt: Instant | undefined

  constructor(ports: SigningKeyPorts, settings: IdentitySettings['tokens']) {
    this.#ports = ports
    this.#settings = settings
  }

  /**
   * Returns the newest active key, or the oldest key if the clock is behind all of them. Adds a key if the store has
   * none.
   */
  async signing(): Promise<SigningKey> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    if (!this.#findActive()) await this.#add((stored) => stored === 0)
    const key = this.#findActive() ?? this.#keys.findLast((each) => this.#accepts(each))
    if (!key) throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'no signing key is active' })
    return key
  }

  /** Returns the accepted key with an id, including one that another replica has just added. */
  async verifying(kid: string): Promise<SigningKey | undefined> {
    await this.#readIfOlderThan(this.#settings.keyRefreshMs)
    if (!this.#find(kid)) await this.#readIfOlderThan(rereadMs)
    return this.#find(kid)
  }

  /** Whether this replica accepts signatures of a key. */
  isAccepted(kid: string): boolean {
    return this.#find(kid) !== undefined
  }

  /**
   * Adds a key and returns its id. It signs after its publication time. Older keys verify until the last token that they
   * signed has expired. `record` runs in the same transaction.
   */
  async rotate(record?: (tx: Tx, kid: string) => Promise<void>): Promise<string> {
    // Decrypt the stored keys first: with a wrong secret key, the new key would be unusable to all gateways.
    await this.#read()
    const kid = await this.#add(() => true, record)
    if (!kid) throw new Error('no signing key was added')
    return kid
  }

  /** Returns the JWK Set (RFC 7517, section 5) of all accepted keys, including those that do not sign yet. */
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

  async #read(): Promise<void> {
    const now = this.#ports.clock.now()
    const stored = await readSigningKeys(this.#ports.database, now)
    this.#keys = stored.map((key) => decrypt(this.#ports, key))
    this.#readAt = now
  }

  async #readIfOlderThan(ageMs: number): Promise<void> {
    const age = this.#readAt === undefined ? Number.POSITIVE_INFINITY : Math.abs(this.#ports.clock.now() - this.#readAt)
    if (age >= ageMs) await this.#read()
  }

  /** Adds a key if `isNeeded`, with the number of stored keys. Returns its id. */
  async #add(
    isNeeded: (stored: number) => boolean,
    record: (tx: Tx, kid: string) => Promise<void> = async () => undefined,
  ): Promise<string | undefined> {
    const { clock, database, ids, secretBox } = this.#ports
    const pair = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { format: 'der', type: 'spki' },
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    })
    const kid: string = ids.next<'signingKey'>()
    const isAdded = await inTransaction(database, async (tx) => {
      await lockSigningKeys(tx)
      const now = clock.now()
      const stored = (await readSigningKeys(tx, now)).length
      if (!isNeeded(stored)) return false
      // The first key signs immediately, because no other key can.
      const activatesAt = stored === 0 ? now : addMs(now, this.#settings.keyPublicationMs)
      await retireSigningKeys(tx, this.#retirementAfter(activatesAt), now)
      const privateKey = secretBox.seal('signing-key', kid, pair.privateKey)
      await insertSigningKey(tx, { kid, publicKey: pair.publicKey, privateKey, activatesAt }, now)
      await record(tx, kid)
      return true
    })
    await this.#read()
    return isAdded ? kid : undefined
  }

  /** Returns the time at which older keys retire if the next key starts to sign at `activatesAt`. */
  #retirementAfter(activatesAt: Instant): Instant {
    const { accessTtlMs, assertionTtlMs, clockSkewMs, keyRefreshMs } = this.#settings
    const lastUse = addMs(activatesAt, keyRefreshMs + clockSkewMs)
    return addMs(lastUse, Math.max(accessTtlMs, assertionTtlMs) + graceMs)
  }
}
