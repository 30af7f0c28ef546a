import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, type Param, run, type Statements, statement, type Tx, validAt } from '../../database/index.ts'
import { type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import type { ChallengeKind } from './schema.ts'

/** The context of a challenge. Only a credential in the same context can use it. */
export interface ChallengeBinding {
  portal: Portal
  kind: ChallengeKind
  /** Null for a sign-in. */
  sessionId: SessionId | null
  /** The digest of a pending sign-in, after a password. */
  attemptDigest: Uint8Array | null
  /** Of a step-up. */
  purposeDigest: Uint8Array | null
}

export interface NewChallenge extends ChallengeBinding {
  digest: Uint8Array
  clientDigest: Uint8Array
  nonce: Uint8Array | null
  enrollmentDigest: Uint8Array | null
  expiresAt: Instant
}

export interface StoredChallenge {
  createdAt: Instant
  nonce: Uint8Array | null
  /** The enrollment that the registration uses up, if any. */
  enrollmentDigest: Uint8Array | null
}

/** Of a presented challenge, under the current and the previous secret keys. */
export interface ChallengeDigests {
  digests: readonly Uint8Array[]
  clientDigests: readonly Uint8Array[]
}

export async function insertChallenge(store: Database | Tx, challenge: NewChallenge, at: Instant): Promise<void> {
  const { portal, kind, nonce, clientDigest, attemptDigest, purposeDigest, enrollmentDigest } = challenge
  await store
    .insertInto('passkey_challenges')
    .values({
      challengeDigest: challenge.digest,
      portal,
      kind,
      clientDigest,
      sessionBizId: challenge.sessionId,
      attemptDigest,
      nonce,
      purposeDigest,
      enrollmentDigest,
      createdAt: toDate(at),
      expiresAt: toDate(challenge.expiresAt),
      spentAt: null,
    })
    .execute()
}

type ChallengeKey = ChallengeBinding & ChallengeDigests & { now: Date }

const columns = ['createdAt', 'nonce', 'enrollmentDigest'] as const

const findPending = statement((store, param: Param<ChallengeKey>) =>
  store.selectFrom('passkey_challenges').select(columns).where(isPending(param)),
)
const spendPending = statement((store, param: Param<ChallengeKey>) =>
  store
    .updateTable('passkey_challenges')
    .set({ spentAt: param('now') })
    .where(isPending(param))
    .returning(columns),
)

/** Undefined if the challenge is unknown, expired or used, or bound to another context. */
export function pendingChallenge(
  binding: ChallengeBinding,
  digests: ChallengeDigests,
  now: Instant,
): Statements<StoredChallenge | undefined> {
  return findPending.with({ ...binding, ...digests, now: toDate(now) }).first()
}

/** Like `pendingChallenge`. Of parallel uses, only one gets it. */
export function spendChallenge(
  binding: ChallengeBinding,
  digests: ChallengeDigests,
  now: Instant,
): Statements<StoredChallenge | undefined> {
  return spendPending.with({ ...binding, ...digests, now: toDate(now) }).first()
}

export function takeChallenge(
  tx: Tx,
  binding: ChallengeBinding,
  digests: ChallengeDigests,
  now: Instant,
): Promise<StoredChallenge | undefined> {
  return run(tx, spendChallenge(binding, digests, now))
}

function isPending(param: Param<ChallengeKey>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(
    portal = ${param('portal')} AND kind = ${param('kind')}
    AND challenge_digest = any(${param('digests')}::bytea[])
    AND client_digest = any(${param('clientDigests')}::bytea[])
    AND session_biz_id IS NOT DISTINCT FROM ${param('sessionId')}::uuid
    AND attempt_digest IS NOT DISTINCT FROM ${param('attemptDigest')}::bytea
    AND purpose_digest IS NOT DISTINCT FROM ${param('purposeDigest')}::bytea
    AND spent_at IS NULL AND ${validAt('createdAt', 'expiresAt', param('now'))})`
}
