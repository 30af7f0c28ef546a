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

const generate = promisify(generateKeyPair)
const modulusLength = 2048
/** Minimum interval between two reads because of an unknown key id. */
const rereadMs = 1_000

/** The channel keys of all replicas, cached in memory. */
export class ChannelKeyRing {
  readonly #ports: Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>
  readonly #settings: Pick<IdentitySettings['secureChannel'], 'keyTtlMs' | 'keyOverlapMs'>
  #keys: readonly ChannelKey[] = []
  #readAt: Instant | undefined
  #renewal: Promise<ChannelKey> | undefined

  constructor(ports: IdentityPorts, settings: IdentitySettings['secureChannel']) {
    this.#ports = ports
    this.#settings = settings
  }

  /** Returns the key for new sessions. Generates one for all replicas if no key is valid beyond the overlap. */
  async offered(): Promise<ChannelKey> {
    const key = this.#findOffered()
    if (key) return key
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** Returns the unexpired key with an id, including one that another replica has just added. */
  async find(keyId: string): Promise<ChannelKey | undefined> {
    const key = this.#findCached(keyId)
    const { clock } = this.#ports
    const canRead = this.#readAt === undefined || Math.abs(clock.now() - this.#readAt) >= rereadMs
    if (key || !canRead) return key
    await this.#read()
    return this.#findCached(keyId)
  }

  #findCached(keyId: string): ChannelKey | undefined {
    return this.#keys.find((key) => key.keyId === keyId && key.expiresAt > this.#ports.clock.now())
  }

  #findOffered(): ChannelKey | undefined {
    const now = this.#ports.clock.now()
    const until = addMs(now, this.#settings.keyOverlapMs)
    return this.#keys.find((key) => key.expiresAt > until && key.createdAt <= now)
  }

  async #read(): Promise<void> {
    const { clock, database, secretBox } = this.#ports
    const now = clock.now()
    const stored = await readChannelKeys(database, now)
    this.#keys = stored.map((key) => {
      const der = Buffer.from(secretBox.open('channel-key', key.keyId, key.privateKey))
      return { ...key, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
    })
    this.#readAt = now
  }

  /** Reads the stored keys and adds one if none can be offered. */
  async #renew(): Promise<ChannelKey> {
    await this.#read()
    const shared = this.#findOffered()
    if (shared) return shared
    const { clock, database, ids, secretBox } = this.#ports
    const pair = await generate('rsa', {
      modulusLength,
      publicKeyEncoding: { format: 'der', type: 'spki' },
      privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    })
    const keyId: string = ids.next<'channelKey'>()
    const createdAt = clock.now()
    const expiresAt = addMs(createdAt, this.#settings.keyTtlMs)
    const privateKey = secretBox.seal('channel-key', keyId, pair.privateKey)
    const key = { keyId, publicKey: pair.publicKey, privateKey, createdAt, expiresAt }
    await addChannelKey(database, key, this.#settings.keyOverlapMs)
    await this.#read()
    const added = this.#findOffered()
    if (!added) throw new Error('no channel key is valid beyond the overlap')
    return added
  }
}
