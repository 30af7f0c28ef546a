/**
 * Keyed digests, encryption at rest and password hashes. All keys derive from the deployment's secret key, one for each
 * purpose (key-derivation.ts).
 */

export { decodeBase64url, isCompactJws } from './base64url.ts'
export { createPasswordHasher, type PasswordHasher } from './password-hasher.ts'
export { createKeyedDigest, createSecretBox, type KeyedDigest, type SecretBox } from './secret-key.ts'
