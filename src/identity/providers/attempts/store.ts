import { type Database, validAt } from '../../../database/index.ts'
import { type AccountId, type Instant, type Portal, type SessionId, toDate } from '../../../kernel/index.ts'

export type ProviderAttemptKind = 'SIGN_IN' | 'LINK' | 'STEP_UP'

export interface NewProviderAttempt {
  digest: Uint8Array
  portal: Portal
  kind: ProviderAttemptKind
  providerId: string
  session: { accountId: AccountId; sessionId: SessionId } | null
  clientDigest: Uint8Array
  stateDigest: Uint8Array
  purposeDigest: Uint8Array | null
  secret: Uint8Array
  expiresAt: Instant
}

export async function insertProviderAttempt(
  database: Database,
  attempt: NewProviderAttempt,
  at: Instant,
): Promise<void> {
  const { digest, session, expiresAt, ...row } = attempt
  await database
    .insertInto('provider_attempts')
    .values({
      ...row,
      tokenDigest: digest,
      accountBizId: session?.accountId ?? null,
      sessionBizId: session?.sessionId ?? null,
      createdAt: toDate(at),
      expiresAt: toDate(expiresAt),
      spentAt: null,
    })
    .execute()
}

export interface SpentAttempt {
  digest: Uint8Array
  providerId: string
  accountId: AccountId | null
  purposeDigest: Uint8Array | null
  secret: Uint8Array
  createdAt: Instant
}

export interface AttemptProof {
  portal: Portal
  kind: ProviderAttemptKind
  sessionId: SessionId | null
  /** Under the current secret key, then under previous ones. */
  digests: readonly Uint8Array[]
  clientDigests: readonly Uint8Array[]
  stateDigests: readonly Uint8Array[]
}

/** Returns undefined unless the proof is that of an open attempt. Only one caller can spend it. */
export function spendProviderAttempt(
  database: Database,
  { portal, kind, sessionId, digests, clientDigests, stateDigests }: AttemptProof,
  at: Instant,
): Promise<SpentAttempt | undefined> {
  return database
    .updateTable('provider_attempts')
    .set({ spentAt: toDate(at) })
    .where('portal', '=', portal)
    .where('kind', '=', kind)
    .where('tokenDigest', 'in', digests)
    .where('clientDigest', 'in', clientDigests)
    .where('stateDigest', 'in', stateDigests)
    .where('sessionBizId', sessionId === null ? 'is' : '=', sessionId)
    .where('spentAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', at))
    .returning([
      ...(['tokenDigest as digest', 'providerId', 'accountBizId as accountId', 'purposeDigest'] as const),
      ...(['secret', 'createdAt'] as const),
    ])
    .executeTakeFirst()
}
