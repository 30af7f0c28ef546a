import { type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { type Database, isDuring, type Tx } from '../../platform/database/index.ts'

/** A registration under way: neither spent nor expired. */
export interface Registration {
  email: string
  clientDigest: Uint8Array
  emailVerifiedAt: Instant | null
}

export const readRegistration = async (
  database: Database,
  portal: Portal,
  digest: Uint8Array,
  now: Instant,
): Promise<Registration | undefined> => {
  const row = await database
    .selectFrom('login_sessions')
    .select(['email', 'client_digest as clientDigest', 'email_verified_at as emailVerifiedAt'])
    .where('portal', '=', portal)
    .where('kind', '=', 'REGISTRATION')
    .where('token_digest', '=', digest)
    .where('spent_at', 'is', null)
    .where(isDuring('created_at', 'expires_at', now))
    .executeTakeFirst()
  return row && row.email !== null ? { ...row, email: row.email } : undefined
}

/** Notes that the address was proved. Whether the registration still was under way. */
export const recordVerifiedEmail = async (
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
  now: Instant,
): Promise<boolean> => {
  const verified = await tx
    .updateTable('login_sessions')
    .set({ email_verified_at: toDate(now) })
    .where('portal', '=', portal)
    .where('kind', '=', 'REGISTRATION')
    .where('token_digest', '=', digest)
    .where('spent_at', 'is', null)
    .where(isDuring('created_at', 'expires_at', now))
    .returning('token_digest')
    .executeTakeFirst()
  return verified !== undefined
}
