import type { Randomness } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'

/** `ptk_<12 hex>_<43 base64url>`: the first two parts are public and identify the key, the last is 32 random bytes. */
const shape = /^(ptk_[0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

export interface PresentedKey {
  prefix: string
  secret: string
}

/** Undefined if the text is not an API key. */
export const parseKey = (text: string): PresentedKey | undefined => {
  const [, prefix, secret] = shape.exec(text) ?? []
  return prefix === undefined || secret === undefined ? undefined : { prefix, secret }
}

export interface NewKey {
  prefix: string
  /** The whole key. It is returned once and never stored. */
  key: string
  last4: string
  digest: Uint8Array
}

/** The keyed digest of a secret, which is what the store holds. */
export const keyDigest = (digest: KeyedDigest, { prefix, secret }: PresentedKey): Uint8Array =>
  digest('api-key', prefix, secret)

/** A new random key. */
export const generateKey = (randomness: Randomness, digest: KeyedDigest): NewKey => {
  const prefix = `ptk_${Buffer.from(randomness.bytes(6)).toString('hex')}`
  const secret = Buffer.from(randomness.bytes(32)).toString('base64url')
  const key = `${prefix}_${secret}`
  return { prefix, key, last4: key.slice(-4), digest: keyDigest(digest, { prefix, secret }) }
}
