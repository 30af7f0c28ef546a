import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, type Instant, Refusal } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { insertSigningKey, lockSigningKeys, readSigningKeys, retireSigningKeys } from './signing-key-store.ts'

export interface SigningKey {
  kid: string
  publicKey: KeyObject
  privateKey: KeyObject
  activatesAt: Instant
  retiresAt: Instant | null
}

export interface SigningKeys {
  /** The newest key that is active; where the clock was set back to before all of them, or is behind, the oldest one. */
  signing(): Promise<SigningKey>
  /** A key whose signatures count, also one that another replica has just made. */
  verifying(kid: string): Promise<SigningKey | undefined>
  /** Whether signatures of this key count, by what this replica knows. */
  counts(kid: string): boolean
  /**
   * A new key signs after its publication; the old ones verify until what they signed has expired. `record` writes in
   * the same transaction. Answers its id.
   */
  rotate(record?: (tx: Tx, kid: string) => Promise<void>): Promise<string>
  /** JWK Set (RFC 7517, section 5) of every key that counts, those to come included. */
  jwks(): Promise<JSONWebKeySet>
}

/** Unknown ids make the store be read at most this often. */
const rereadMs = 1_000
/** Beyond the longest life of what the keys sign. */
const graceMs = 60_000

/** So little is needed to rotate keys that the command line does it by itself. */
type SigningKeyPorts = Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>

export const createSigningKeys = (ports: SigningKeyPorts, settings: IdentitySettings['tokens']): SigningKeys => {
  const { database, clock, ids, secretBox } = ports
  let keys: readonly SigningKey[] = []
  let readAt: Instant | undefined

  const read = async (): Promise<void> => {
    const now = clock.now()
    const stored = await readSigningKeys(database, now)
    keys = stored.map((key) => ({
      ...key,
      publicKey: createPublicKey({ key: Buffer.from(key.publicKey), format: 'der', type: 'spki' }),
      privateKey: createPrivateKey({
        key: Buffer.from(secretBox.open('signing-key', key.kid, key.privateKey)),
        format: 'der',
        type: 'pkcs8',
      }),
    }))
    readAt = now
  }

  const readOlderThan = async (age: number): Promise<void> => {
    if (readAt === undefined || Math.abs(clock.now() - readAt) >= age) await read()
  }

  const add = async (
    needed: (stored: number) => boolean,
    record: (tx: Tx, kid: string) => Promise<void> = async () => undefined,
  ): Promise<string | undefined> => {
    const pair = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { format: 'der', type: 'spki' },
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    })
    const kid: string = ids.next<'signingKey'>()
    const made = await inTransaction(database, async (tx) => {
      await lockSigningKeys(tx)
      const now = clock.now()
      const known = (await readSigningKeys(tx, now)).length
      if (!needed(known)) return false
      // The very first key has nobody to be announced to, and nothing could be signed before it.
      const activatesAt = known === 0 ? now : addMs(now, settings.keyPublicationMs)
      const lastUse = addMs(activatesAt, settings.keyRefreshMs + settings.clockSkewMs)
      const lifeMs = Math.max(settings.accessTtlMs, settings.assertionTtlMs)
      await retireSigningKeys(tx, addMs(lastUse, lifeMs + graceMs), now)
      const privateKey = secretBox.seal('signing-key', kid, pair.privateKey)
      await insertSigningKey(tx, { kid, publicKey: pair.publicKey, privateKey, activatesAt }, now)
      await record(tx, kid)
      return true
    })
    await read()
    return made ? kid : undefined
  }

  const active = (): SigningKey | undefined => keys.find((key) => key.activatesAt <= clock.now() && counting(key))
  const counting = (key: SigningKey): boolean => key.retiresAt === null || key.retiresAt > clock.now()
  const known = (kid: string): SigningKey | undefined => keys.find((key) => key.kid === kid && counting(key))

  return {
    signing: async () => {
      await readOlderThan(settings.keyRefreshMs)
      if (!active()) await add((stored) => stored === 0)
      const key = active() ?? keys.findLast(counting)
      if (!key) throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'no signing key is active' })
      return key
    },
    verifying: async (kid) => {
      await readOlderThan(settings.keyRefreshMs)
      if (!known(kid)) await readOlderThan(rereadMs)
      return known(kid)
    },
    counts: (kid) => known(kid) !== undefined,
    rotate: async (record) => {
      // Whoever cannot open the keys that are there would add one that no gateway can open.
      await read()
      const kid = await add(() => true, record)
      if (!kid) throw new Error('no signing key was made')
      return kid
    },
    jwks: async () => {
      await readOlderThan(settings.keyRefreshMs)
      return {
        keys: keys.filter(counting).map((key) => ({
          ...key.publicKey.export({ format: 'jwk' }),
          kid: key.kid,
          alg: 'EdDSA',
          use: 'sig',
        })),
      }
    },
  }
}
