import { sql } from 'kysely'
import { type Database, differsByAtLeast, type Given, statement, type Tx, validAt } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { LoginSessionsTable } from './schema.ts'

export type PreLoginKind = LoginSessionsTable['kind']
type Store = Database | Tx

/** A pre-login session that is neither spent nor expired. A login has its account, a registration its address. */
export interface LoginSession {
  accountId: AccountId | null
  email: string | null
  emailVerifiedAt: Instant | null
  clientDigest: Uint8Array
  attemptsLeft: number
  codeSentAt: Instant | null
  expiresAt: Instant
}

export interface NewLoginSession {
  digest: Uint8Array
  portal: Portal
  clientDigest: Uint8Array
  attempts: number
  expiresAt: Instant
}

const rowOf = (session: NewLoginSession, at: Instant) => ({
  token_digest: session.digest,
  portal: session.portal,
  client_digest: session.clientDigest,
  attempts_left: session.attempts,
  created_at: toDate(at),
  expires_at: toDate(session.expiresAt),
})

/** Begins a registration of the address. */
export const insertRegistration = async (
  store: Store,
  session: NewLoginSession,
  email: string,
  at: Instant,
): Promise<void> => {
  const row = rowOf(session, at)
  await store
    .insertInto('login_sessions')
    .values({ ...row, kind: 'REGISTRATION', account_biz_id: null, email })
    .execute()
}

/**
 * Begins a login of the account whose password was verified: whether it still has that one. A change under way is waited
 * for (FOR SHARE), so a login is either here to be voided by it or does not begin.
 */
export const insertLogin = async (
  store: Store,
  session: NewLoginSession,
  verified: { id: AccountId; passwordHash: string | null },
  at: Instant,
): Promise<boolean> => {
  const row = rowOf(session, at)
  const begun = await sql`
    INSERT INTO login_sessions
      (token_digest, portal, kind, account_biz_id, client_digest, attempts_left, created_at, expires_at)
    SELECT ${row.token_digest}::bytea, portal, 'LOGIN', biz_id, ${row.client_digest}::bytea, ${row.attempts_left}::int,
      ${row.created_at}::timestamptz, ${row.expires_at}::timestamptz
    FROM accounts
    WHERE portal = ${row.portal} AND biz_id = ${verified.id} AND password_hash = ${verified.passwordHash}
    FOR SHARE
    RETURNING token_digest`.execute(store)
  return begun.rows.length > 0
}

type Named = { portal: Portal; digest: Uint8Array; now: Date }

const found = statement((store, given: Given<Named & { kind: PreLoginKind }>) =>
  store
    .selectFrom('login_sessions')
    .select([
      'account_biz_id as accountId',
      'email',
      'email_verified_at as emailVerifiedAt',
      'client_digest as clientDigest',
      'attempts_left as attemptsLeft',
      'code_sent_at as codeSentAt',
      'expires_at as expiresAt',
    ])
    .where('portal', '=', given('portal'))
    .where('kind', '=', given('kind'))
    .where('token_digest', '=', given('digest'))
    .where('spent_at', 'is', null)
    .where(validAt('created_at', 'expires_at', given('now')))
    // The last attempt may have proved the address, and the registration goes on.
    .where((row) => row.or([row('kind', '=', 'REGISTRATION'), row('attempts_left', '>', 0)])),
)

export const readLoginSession = (
  store: Store,
  portal: Portal,
  kind: PreLoginKind,
  digest: Uint8Array,
  now: Instant,
): Promise<LoginSession | undefined> => found.first(store, { portal, kind, digest, now: toDate(now) })

/** What changes a pre-login session finds it live or changes nothing. */
const live = (store: Store, given: Given<Named>) =>
  store
    .updateTable('login_sessions')
    .where('portal', '=', given('portal'))
    .where('token_digest', '=', given('digest'))
    .where('spent_at', 'is', null)
    .where(validAt('created_at', 'expires_at', given('now')))
    .returning('token_digest')

const counting = statement((store, given: Given<Named>) =>
  live(store, given)
    .set((row) => ({ attempts_left: row('attempts_left', '-', 1) }))
    .where('attempts_left', '>', 0),
)

/** Takes one attempt before it is looked at; whether one was left. */
export const countAttempt = async (
  database: Database,
  portal: Portal,
  digest: Uint8Array,
  now: Instant,
): Promise<boolean> => (await counting.first(database, { portal, digest, now: toDate(now) })) !== undefined

const claiming = statement((store, given: Given<Named & { resendMs: number }>) =>
  live(store, given)
    .set({ code_sent_at: given('now') })
    .where((row) =>
      row.or([row('code_sent_at', 'is', null), differsByAtLeast('code_sent_at', given('now'), given('resendMs'))]),
    ),
)

/** Claims the sending of a code, one at a time: whether none was sent within `resendMs`. */
export const claimCodeSending = async (
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
  now: Instant,
  resendMs: number,
): Promise<boolean> => (await claiming.first(tx, { portal, digest, now: toDate(now), resendMs })) !== undefined

const proving = statement((store, given: Given<Named>) =>
  live(store, given)
    .set({ email_verified_at: given('now') })
    .where('kind', '=', 'REGISTRATION'),
)

/** Notes that a registration's address was proved. Whether it still was under way. */
export const recordVerifiedEmail = async (tx: Tx, portal: Portal, digest: Uint8Array, now: Instant): Promise<boolean> =>
  (await proving.first(tx, { portal, digest, now: toDate(now) })) !== undefined

const spending = statement((store, given: Given<Named>) => live(store, given).set({ spent_at: given('now') }))

/** Spends the session, once. */
export const spendLoginSession = async (tx: Tx, portal: Portal, digest: Uint8Array, now: Instant): Promise<boolean> =>
  (await spending.first(tx, { portal, digest, now: toDate(now) })) !== undefined

/**
 * Ends an account's logins: they began with a password that is not its password any more. Expired ones too, which would be
 * back once a clock that was ahead is set right.
 */
export const voidLogins = async (tx: Tx, portal: Portal, accountId: AccountId, now: Instant): Promise<void> => {
  await tx
    .updateTable('login_sessions')
    .set({ spent_at: toDate(now) })
    .where('portal', '=', portal)
    .where('kind', '=', 'LOGIN')
    .where('account_biz_id', '=', accountId)
    .where('spent_at', 'is', null)
    .execute()
}
