/**
 * Keyed digests, encryption at rest and password hashes. Start with secret-key.ts: it derives one key per purpose from the
 * deployment's secret key. Depends on the kernel only.
 */

export { decodeBase64url, isCompactJws } from './base64url.ts'
export { createPasswordHasher, type PasswordHasher } from './password-hasher.ts'
export { createKeyedDigest, createSecretBox, type KeyedDigest, type SecretBox } from './secret-key.ts'
