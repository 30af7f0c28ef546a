import { createHmac } from 'node:crypto'
import { createKeyDerivation } from './key-derivation.ts'

/** Digests values that are only compared (tokens, codes, addresses), so that a stolen database does not reveal them. */
export type KeyedDigest = (purpose: DigestPurpose, ...parts: string[]) => Uint8Array

/** A closed set, so that a digest of one kind never matches one of another. */
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

/** HMAC-SHA-256 (RFC 2104) with a key per purpose. Includes the length of each part, so that parts cannot shift. */
export const createKeyedDigest = (secretKey: Uint8Array): KeyedDigest => {
  const keyFor = createKeyDerivation(secretKey, 'digest')
  return (purpose, ...parts) => {
    const hmac = createHmac('sha256', keyFor(purpose))
    for (const part of parts) hmac.update(`${part.length}:`).update(part)
    return hmac.digest()
  }
}
