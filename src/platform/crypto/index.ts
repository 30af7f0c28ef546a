export { createKeyedDigest, type DigestPurpose, type KeyedDigest } from './keyed-digest.ts'
export { createPasswordHasher, type PasswordHasher } from './password-hasher.ts'
export { createSecretBox, type SecretBox, type SecretPurpose } from './secret-box.ts'
