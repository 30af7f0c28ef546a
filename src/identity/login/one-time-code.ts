import type { Randomness } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { CodeOwner } from './code-store.ts'

const digits = 6

/** Six digits, each code as likely as any other. */
export const mintCode = (randomness: Randomness): string =>
  randomness
    .integer(10 ** digits)
    .toString()
    .padStart(digits, '0')

/** A code counts for its owner alone, so the owner is part of what is kept of it. */
export const codeDigest = (digest: KeyedDigest, { portal, owner, purpose }: CodeOwner, code: string): Uint8Array =>
  digest('one-time-code', portal, purpose, owner, code)

/** Enough of an address for its owner to know it by: the first character and the domain. */
export const maskEmail = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}
