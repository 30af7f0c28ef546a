import { sql } from 'kysely'
import {
  type Database,
  differsByAtLeast,
  type Param,
  query,
  rawQuery,
  type Statements,
  statement,
  type Tx,
  validAt,
} from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { AttemptsTable } from './schema.ts'

export type AttemptKind = AttemptsTable['kind']
type Store = Database | Tx

/** A sign-in has an account id, and a registration has an address. */
export interface Attempt {
  accountId: AccountId | null
  email: string | null
  emailVerifiedAt: Instant | null
  clientDigest: Uint8Array
  triesLeft: number
  codeSentAt: Instant | null
  expiresAt: Instant
  providerId: string | null
  providerSid: string | null
  providerToken: Uint8Array | null
}

export interface ProviderOfAttempt extends Pick<Attempt, 'providerSid' | 'providerToken'> {
  providerId: string
}

export interface NewAttempt {
  digest: Uint8Array
  portal: Portal
  clientDigest: Uint8Array
  tries: number
  expiresAt: Instant
}

export async function insertRegistrationAttempt(
  store: Store,
  attempt: NewAttempt,
  email: string,
  at: Instant,
): Promise<void> {
  const row = rowOf(attempt, at)
  await store
    .insertInto('login_sessions')
    .values({ ...row, kind: 'REGISTRATION', accountBizId: null, email })
    .execute()
}

/**
 * Returns false if the password has changed since its verification. FOR SHARE waits for a concurrent change. A later
 * change cancels this sign-in.
 */
export function insertLoginAttempt(
  attempt: NewAttempt,
  verified: { id: AccountId; passwordHash: string | null },
  at: Instant,
): Statements<boolean> {
  const row = rowOf(attempt, at)
  return rawQuery(sql`
    INSERT INTO login_sessions
      (token_digest, portal, kind, account_biz_id, client_digest, attempts_left, created_at, expires_at)
    SELECT ${row.tokenDigest}::bytea, portal, 'LOGIN', biz_id, ${row.clientDigest}::bytea, ${row.attemptsLeft}::int,
      ${row.createdAt}::timestamptz, ${row.expiresAt}::timestamptz
    FROM accounts
    WHERE portal = ${row.portal} AND biz_id = ${verified.id} AND password_hash = ${verified.passwordHash}
    FOR SHARE
    RETURNING token_digest`).hasRow()
}

/** For a person whom an identity provider authenticated. The caller must have locked the account's row. */
export function insertProvidedAttempt(
  attempt: NewAttempt,
  accountBizId: AccountId,
  provider: ProviderOfAttempt,
  at: Instant,
): Statements<unknown> {
  return query((store) =>
    store.insertInto('login_sessions').values({ ...rowOf(attempt, at), kind: 'LOGIN', accountBizId, ...provider }),
  )
}

type PendingKey = { portal: Portal; digest: Uint8Array; now: Date }

const findPending = statement((store, param: Param<PendingKey & { kind: AttemptKind }>) =>
  store
    .selectFrom('login_sessions')
    .select([
      'accountBizId as accountId',
      'email',
      'emailVerifiedAt',
      'clientDigest',
      'attemptsLeft as triesLeft',
      'codeSentAt',
      'expiresAt',
      'providerId',
      'providerSid',
      'providerToken',
    ])
    .where('portal', '=', param('portal'))
    .where('kind', '=', param('kind'))
    .where('tokenDigest', '=', param('digest'))
    .where('spentAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', param('now')))
    // A registration with a verified address needs no tries.
    .where((row) => row.or([row('kind', '=', 'REGISTRATION'), row('attemptsLeft', '>', 0)])),
)

/** Returns undefined if the attempt is unknown, expired, used, or a sign-in without tries left. */
export function readAttempt(
  portal: Portal,
  kind: AttemptKind,
  digest: Uint8Array,
  now: Instant,
): Statements<Attempt | undefined> {
  return findPending.with({ portal, kind, digest, now: toDate(now) }).first()
}

const decrementTries = statement((store, param: Param<PendingKey>) =>
  updatePending(store, param)
    .set((row) => ({ attemptsLeft: row('attemptsLeft', '-', 1) }))
    .where('attemptsLeft', '>', 0),
)

/** Call this before verifying the code. Returns false if no try is left. */
export async function takeTry(database: Database, portal: Portal, digest: Uint8Array, now: Instant): Promise<boolean> {
  return (await decrementTries.first(database, { portal, digest, now: toDate(now) })) !== undefined
}

const updateCodeSentAt = statement((store, param: Param<PendingKey & { resendMs: number }>) =>
  updatePending(store, param)
    .set({ codeSentAt: param('now') })
    .where((row) =>
      row.or([row('codeSentAt', 'is', null), differsByAtLeast('codeSentAt', param('now'), param('resendMs'))]),
    ),
)

/** Records that a code was sent. Returns false if the previous code was sent less than `resendMs` ago. */
export function claimCodeSending(
  portal: Portal,
  digest: Uint8Array,
  now: Instant,
  resendMs: number,
): Statements<boolean> {
  return updateCodeSentAt.with({ portal, digest, now: toDate(now), resendMs }).hasRow()
}

const updateEmailVerifiedAt = statement((store, param: Param<PendingKey>) =>
  updatePending(store, param)
    .set({ emailVerifiedAt: param('now') })
    .where('kind', '=', 'REGISTRATION'),
)

export async function recordVerifiedEmail(tx: Tx, portal: Portal, digest: Uint8Array, now: Instant): Promise<boolean> {
  return (await updateEmailVerifiedAt.first(tx, { portal, digest, now: toDate(now) })) !== undefined
}

const updateSpentAt = statement((store, param: Param<PendingKey>) =>
  updatePending(store, param).set({ spentAt: param('now') }),
)

export function spendAttempt(portal: Portal, digest: Uint8Array, now: Instant): Statements<boolean> {
  return updateSpentAt.with({ portal, digest, now: toDate(now) }).hasRow()
}

/** Also cancels expired sign-ins, because they would become valid again if a fast clock is set back. */
export async function cancelLoginAttempts(tx: Tx, portal: Portal, accountId: AccountId, now: Instant): Promise<void> {
  await tx
    .updateTable('login_sessions')
    .set({ spentAt: toDate(now) })
    .where('portal', '=', portal)
    .where('kind', '=', 'LOGIN')
    .where('accountBizId', '=', accountId)
    .where('spentAt', 'is', null)
    .execute()
}

/** Also cancels expired ones, like `cancelLoginAttempts`. */
export async function cancelProvidedAttempts(
  tx: Tx,
  { portal, providerId, sid }: { portal: Portal; providerId: string; sid: string },
  now: Instant,
): Promise<void> {
  await tx
    .updateTable('login_sessions')
    .set({ spentAt: toDate(now) })
    .where('portal', '=', portal)
    .where('providerId', '=', providerId)
    .where('providerSid', '=', sid)
    .where('spentAt', 'is', null)
    .execute()
}

function rowOf(attempt: NewAttempt, at: Instant) {
  return {
    tokenDigest: attempt.digest,
    portal: attempt.portal,
    clientDigest: attempt.clientDigest,
    attemptsLeft: attempt.tries,
    createdAt: toDate(at),
    expiresAt: toDate(attempt.expiresAt),
  }
}

function updatePending(store: Store, param: Param<PendingKey>) {
  return store
    .updateTable('login_sessions')
    .where('portal', '=', param('portal'))
    .where('tokenDigest', '=', param('digest'))
    .where('spentAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', param('now')))
    .returning('tokenDigest')
}
