/**
 * Keyed digests, encryption at rest and password hashes. Start with secret-key.ts, which derives one key per purpose
 * from the secret key. Depends on the kernel only.
 */

export { decodeBase64url, isCompactJws } from './base64url.ts'
export { firstOf, spendOneOf } from './first-of.ts'
export { createPasswordHasher, type PasswordHasher } from './password-hasher.ts'
export {
  createKeyedDigest,
  createSecretBox,
  type KeyedDigest,
  keyIdPosition,
  type SecretBox,
  type SecretKeys,
  type SecretPurpose,
  sealedOverhead,
  secretKeyId,
  UnopenableError,
} from './secret-key.ts'
