import type { AccountId, Portal, Randomness } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'

/** Crockford's base 32 (crockford.com/base32.html): no letter that is read as another. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const length = 10
const half = length / 2

/** How many codes a set has. */
export const backupCodeCount = 10

/** Fifty bits, in two groups. */
const mintBackupCode = (randomness: Randomness): string => {
  const letters = Array.from({ length }, () => alphabet[randomness.integer(alphabet.length)]).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

/** A set in which no code stands twice. */
export const mintBackupCodes = (randomness: Randomness): string[] => {
  const codes = new Set<string>()
  while (codes.size < backupCodeCount) codes.add(mintBackupCode(randomness))
  return [...codes]
}

/** As it is compared: however it was typed, and with the letters that are mistaken for digits. */
const canonical = (code: string): string =>
  code.toUpperCase().replaceAll('-', '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')

export const backupCodeDigest = (digest: KeyedDigest, portal: Portal, accountId: AccountId, code: string): Uint8Array =>
  digest('backup-code', portal, accountId, canonical(code))
