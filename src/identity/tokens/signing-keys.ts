import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { inTransaction, type Tx } from '../../database/index.ts'
import { addMs, type Instant, Refusal } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { insertSigningKey, lockSigningKeys, readSigningKeys, retireSigningKeys } from './store.ts'

/** A decrypted signing key (Ed25519). */
export interface SigningKey {
  kid: string
  publicKey: KeyObject
  privateKey: KeyObject
  activatesAt: Instant
  retiresAt: Instant | null
}

/** The signing keys of all replicas, cached in memory. */
export interface SigningKeys {
  /** Returns the newest active key. If the clock is behind all keys, the oldest one. */
  signing(): Promise<SigningKey>
  /** Returns the accepted key with an id, including one that another replica has just added. */
  verifying(kid: string): Promise<SigningKey | undefined>
  /** Whether this replica accepts signatures of a key. */
  isAccepted(kid: string): boolean
  /**
   * Adds a key and returns its id. It signs after its publication time. Older keys verify until the last token that they
   * signed has expired. `record` runs in the same transaction.
   */
  rotate(record?: (tx: Tx, kid: string) => Promise<void>): Promise<string>
  /** Returns the JWK Set (RFC 7517, section 5) of all accepted keys, including those that do not sign yet. */
  jwks(): Promise<JSONWebKeySet>
}

/** Minimum interval between two reads because of an unknown key id. */
const rereadMs = 1_000
/** Added to the longest token lifetime before a key retires. */
const graceMs = 60_000

/** What signing keys need. The command line has no other identity ports. */
type SigningKeyPorts = Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>

/** Creates the signing keys. They are read on first use; the first key is generated if the store has none. */
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
    const added = await inTransaction(database, async (tx) => {
      await lockSigningKeys(tx)
      const now = clock.now()
      const known = (await readSigningKeys(tx, now)).length
      if (!needed(known)) return false
      // The first key signs immediately, because no other key can.
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
    return added ? kid : undefined
  }

  const active = (): SigningKey | undefined => keys.find((key) => key.activatesAt <= clock.now() && isAccepted(key))
  const isAccepted = (key: SigningKey): boolean => key.retiresAt === null || key.retiresAt > clock.now()
  const known = (kid: string): SigningKey | undefined => keys.find((key) => key.kid === kid && isAccepted(key))

  return {
    signing: async () => {
      await readOlderThan(settings.keyRefreshMs)
      if (!active()) await add((stored) => stored === 0)
      const key = active() ?? keys.findLast(isAccepted)
      if (!key) throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'no signing key is active' })
      return key
    },
    verifying: async (kid) => {
      await readOlderThan(settings.keyRefreshMs)
      if (!known(kid)) await readOlderThan(rereadMs)
      return known(kid)
    },
    isAccepted: (kid) => known(kid) !== undefined,
    rotate: async (record) => {
      // Decrypt the stored keys first: with a wrong secret key, the new key would be unusable to all gateways.
      await read()
      const kid = await add(() => true, record)
      if (!kid) throw new Error('no signing key was added')
      return kid
    },
    jwks: async () => {
      await readOlderThan(settings.keyRefreshMs)
      return {
        keys: keys.filter(isAccepted).map((key) => ({
          ...key.publicKey.export({ format: 'jwk' }),
          kid: key.kid,
          alg: 'EdDSA',
          use: 'sig',
        })),
      }
    },
  }
}
