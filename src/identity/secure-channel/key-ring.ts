import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { addMs, hours, type Instant } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { addChannelKey, readChannelKeys } from './store.ts'

/** RSA-2048, decrypted. */
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
/** Minimum milliseconds between two reads for an unknown key id. */
const rereadMs = 1_000

/** For this time before a key expires, clients get the next key, so that no sign-in starts with a key about to expire. */
export const keyOverlapMs = hours(1)

export class ChannelKeyRing {
  readonly #ports: Pick<IdentityPorts, 'database' | 'clock' | 'ids' | 'secretBox'>
  readonly #settings: Pick<IdentitySettings['secureChannel'], 'keyTtlMs'>
  #keys: readonly ChannelKey[] = []
  #readAt: Instant | undefined
  #renewal: Promise<ChannelKey> | undefined

  constructor(ports: IdentityPorts, settings: IdentitySettings['secureChannel']) {
    this.#ports = ports
    this.#settings = settings
  }

  /** Generates a key for all replicas if every key expires within the overlap period. */
  async offered(): Promise<ChannelKey> {
    const key = this.#findOffered()
    if (key) return key
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** Also finds a new key of another replica. */
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
    const until = addMs(now, keyOverlapMs)
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
    await addChannelKey(database, key, keyOverlapMs)
    await this.#read()
    const added = this.#findOffered()
    if (!added) throw new Error('no channel key is valid beyond the overlap')
    return added
  }
}
