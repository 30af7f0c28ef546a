import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { addMs, type Instant } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { addChannelKey, readChannelKeys } from './store.ts'

/** A decrypted key pair (RSA-2048) for opening channel sessions. */
export interface ChannelKey {
  keyId: string
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Uint8Array
  privateKey: KeyObject
  createdAt: Instant
  expiresAt: Instant
}

/** The channel keys of all replicas, cached in memory. */
export interface ChannelKeyRing {
  /** Returns the key for new sessions. Generates one for all replicas if no key is valid beyond the overlap. */
  offered(): Promise<ChannelKey>
  /** Returns the unexpired key with an id, including one that another replica has just added. */
  find(keyId: string): Promise<ChannelKey | undefined>
}

const generate = promisify(generateKeyPair)
const modulusLength = 2048
/** Minimum interval between two reads because of an unknown key id. */
const rereadMs = 1_000

/** Creates the key ring. */
export const createChannelKeyRing = (
  ports: IdentityPorts,
  { keyTtlMs, keyOverlapMs }: IdentitySettings['secureChannel'],
): ChannelKeyRing => {
  const { database, clock, ids, secretBox } = ports
  let keys: readonly ChannelKey[] = []
  let readAt: Instant | undefined
  let renewal: Promise<ChannelKey> | undefined

  const read = async (): Promise<void> => {
    const now = clock.now()
    const stored = await readChannelKeys(database, now)
    keys = stored.map((key) => {
      const der = Buffer.from(secretBox.open('channel-key', key.keyId, key.privateKey))
      return { ...key, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
    })
    readAt = now
  }

  const findOffered = (): ChannelKey | undefined => {
    const until = addMs(clock.now(), keyOverlapMs)
    return keys.find((key) => key.expiresAt > until && key.createdAt <= clock.now())
  }

  const renew = async (): Promise<ChannelKey> => {
    await read()
    const shared = findOffered()
    if (shared) return shared
    const pair = await generate('rsa', {
      modulusLength,
      publicKeyEncoding: { format: 'der', type: 'spki' },
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    })
    const keyId: string = ids.next<'channelKey'>()
    const createdAt = clock.now()
    const privateKey = secretBox.seal('channel-key', keyId, pair.privateKey)
    const key = { keyId, publicKey: pair.publicKey, privateKey, createdAt, expiresAt: addMs(createdAt, keyTtlMs) }
    await addChannelKey(database, key, keyOverlapMs)
    await read()
    const added = findOffered()
    if (!added) throw new Error('no channel key is valid beyond the overlap')
    return added
  }

  const known = (keyId: string): ChannelKey | undefined =>
    keys.find((key) => key.keyId === keyId && key.expiresAt > clock.now())

  return {
    offered: async () => {
      const key = findOffered()
      if (key) return key
      renewal ??= renew().finally(() => {
        renewal = undefined
      })
      return renewal
    },
    find: async (keyId) => {
      const key = known(keyId)
      const canRead = readAt === undefined || Math.abs(clock.now() - readAt) >= rereadMs
      if (key || !canRead) return key
      await read()
      return known(keyId)
    },
  }
}
