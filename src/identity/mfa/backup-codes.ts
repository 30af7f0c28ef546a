import { inTransaction, type Tx } from '../../database/index.ts'
import { type AccountId, addMs, canonicalCode, type Instant, type Portal, type Randomness } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { Account } from '../accounts/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import { lockAccountOfSession } from '../sessions/service.ts'
import { keepShown, readShown, repeatMs } from './shown.ts'
import { keepUsedBackupCodes, readBackupCodeCounts, replaceBackupCodes } from './store.ts'

/** Crockford's Base32 (crockford.com/base32.html) omits letters that people confuse with digits. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const length = 10
const half = length / 2

export const backupCodeCount = 10

export function backupCodeCandidates(
  digest: KeyedDigest,
  portal: Portal,
  accountId: AccountId,
  code: string,
): Uint8Array[] {
  return digest.candidates('backup-code', portal, accountId, canonical(code))
}

/** The caller must have locked the account's row. */
export async function storeNewBackupCodes(
  { digest, randomness }: Pick<IdentityPorts, 'digest' | 'randomness'>,
  tx: Tx,
  { portal, id }: Pick<Account, 'portal' | 'id'>,
  set: { at: Instant; isIssued: boolean },
): Promise<string[]> {
  const codes = mintBackupCodes(randomness)
  const digests = codes.map((code) => backupCodeDigest(digest, portal, id, code))
  await keepUsedBackupCodes(tx, portal, id, set.at)
  await replaceBackupCodes(tx, portal, id, digests, set)
  return codes
}

export interface BackupCodeSet {
  codes: string[]
  generatedAt: Instant
}

/** Invalidates the previous set. A repeated request gets the same codes, unless one of them is used. */
export function generateBackupCodes(ports: IdentityPorts, context: CallerContext): Promise<BackupCodeSet> {
  return inTransaction(ports.database, async (tx) => {
    const account = await lockAccountOfSession(tx, context.caller)
    const session = assertSession(context.caller)
    const set =
      (await shownBackupCodes(ports, tx, session)) ?? (await replaceShownCodes(ports, tx, account, session, context))
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id })
    return set
  })
}

async function shownBackupCodes(ports: IdentityPorts, tx: Tx, session: OwnSession): Promise<BackupCodeSet | undefined> {
  const { generatedAt, remainingCount } = await readBackupCodeCounts(tx, session.portal, session.accountId)
  if (generatedAt === null || remainingCount < backupCodeCount) return undefined
  const period = { factorAt: generatedAt, now: ports.clock.now() }
  const shown = await readShown(ports, tx, session, 'BACKUP_CODE', period)
  return shown && { codes: Buffer.from(shown).toString().split(' '), generatedAt }
}

async function replaceShownCodes(
  ports: IdentityPorts,
  tx: Tx,
  account: Account,
  session: OwnSession,
  context: CallerContext,
): Promise<BackupCodeSet> {
  const generatedAt = ports.clock.now()
  const codes = await storeNewBackupCodes(ports, tx, account, { at: generatedAt, isIssued: false })
  const period = { from: generatedAt, until: addMs(generatedAt, repeatMs) }
  await keepShown(ports, tx, session, 'BACKUP_CODE', Buffer.from(codes.join(' ')), period)
  await queueNotice(tx, ports.ids, account, 'BACKUP_CODES_GENERATED', context, generatedAt)
  return { codes, generatedAt }
}

function canonical(code: string): string {
  return canonicalCode(code).replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

function mintBackupCodes(randomness: Randomness): string[] {
  const codes = new Set<string>()
  while (codes.size < backupCodeCount) codes.add(mintBackupCode(randomness))
  return [...codes]
}

/** Returns 50 random bits. */
function mintBackupCode(randomness: Randomness): string {
  const letters = Array.from({ length }, () => alphabet[randomness.integer(alphabet.length)]).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

function backupCodeDigest(digest: KeyedDigest, portal: Portal, accountId: AccountId, code: string): Uint8Array {
  return digest('backup-code', portal, accountId, canonical(code))
}
