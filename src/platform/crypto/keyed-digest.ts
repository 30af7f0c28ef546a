import { createHmac } from 'node:crypto'
import { createKeyDerivation } from './key-derivation.ts'

/** What is only ever compared, not read again: tokens, codes, addresses. A stolen database alone cannot guess them. */
export type KeyedDigest = (purpose: DigestPurpose, ...parts: string[]) => Uint8Array

/** A fixed set, so that a digest of one kind never passes for another. */
export type DigestPurpose =
  | 'login-session'
  | 'one-time-code'
  | 'refresh-token'
  | 'client-hash'
  | 'login-failures'
  | 'mail-quota'
  | 'password-token'
  | 'backup-code'
  | 'api-key'
  | 'withdrawal-account'
  | 'withdrawal-channel-request'

/** HMAC-SHA-256 (RFC 2104) under a key derived per purpose. Lengths go in with the parts, so that none shifts. */
export const createKeyedDigest = (secretKey: Uint8Array): KeyedDigest => {
  const keyFor = createKeyDerivation(secretKey, 'digest')
  return (purpose, ...parts) => {
    const hmac = createHmac('sha256', keyFor(purpose))
    for (const part of parts) hmac.update(`${part.length}:`).update(part)
    return hmac.digest()
  }
}
