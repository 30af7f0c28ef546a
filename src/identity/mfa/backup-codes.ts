import { inTransaction } from '../../database/index.ts'
import type { AccountId, Instant, Portal, Randomness } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { lockOwnAccount } from '../accounts/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import { replaceBackupCodes } from './store.ts'

/** Crockford's base 32 (crockford.com/base32.html): no ambiguous letters. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const length = 10
const half = length / 2

/** Number of codes in a set. */
export const backupCodeCount = 10

/** Returns a code of 50 random bits, in two groups of letters. */
const mintBackupCode = (randomness: Randomness): string => {
  const letters = Array.from({ length }, () => alphabet[randomness.integer(alphabet.length)]).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

const mintBackupCodes = (randomness: Randomness): string[] => {
  const codes = new Set<string>()
  while (codes.size < backupCodeCount) codes.add(mintBackupCode(randomness))
  return [...codes]
}

/** Removes dashes, converts to upper case, and replaces letters that look like digits. */
const canonical = (code: string): string =>
  code.toUpperCase().replaceAll('-', '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')

/** Returns the stored digest of a backup code. */
export const backupCodeDigest = (digest: KeyedDigest, portal: Portal, accountId: AccountId, code: string): Uint8Array =>
  digest('backup-code', portal, accountId, canonical(code))

/** Generates a set of backup codes and invalidates the previous one. Only this call returns the codes. */
export const generateBackupCodes = async (
  { database, clock, digest, ids, randomness }: IdentityPorts,
  context: CallerContext,
): Promise<{ codes: string[]; generatedAt: Instant }> => {
  const codes = mintBackupCodes(randomness)
  const generatedAt = clock.now()
  await inTransaction(database, async (tx) => {
    const account = await lockOwnAccount(tx, context.caller)
    const digests = codes.map((code) => backupCodeDigest(digest, account.portal, account.id, code))
    await replaceBackupCodes(tx, account.portal, account.id, digests, generatedAt)
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id })
    await queueNotice(tx, ids, account, 'BACKUP_CODES_GENERATED', context, generatedAt)
  })
  return { codes, generatedAt }
}
