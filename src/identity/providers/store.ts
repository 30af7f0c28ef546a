import { type Database, type Tx, timestamptz, validAt } from '../../database/index.ts'
import { type AccountId, type BizId, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'

type Store = Database | Tx

export type IdentityId = BizId<'identity'>

export interface LinkedIdentity {
  id: IdentityId
  accountId: AccountId
  providerId: string
  issuer: string
  subject: string | null
  linkedAt: Instant | null
  lastSignInAt: Instant | null
}

const columns = [
  'bizId as id',
  'accountBizId as accountId',
  'providerId',
  'issuer',
  'subject',
  'linkedAt',
  'lastSignInAt',
] as const

export interface Person {
  portal: Portal
  issuer: string
  subject: string
}

export function identityOf(store: Store, { portal, issuer, subject }: Person): Promise<LinkedIdentity | undefined> {
  return store
    .selectFrom('provider_identities')
    .select(columns)
    .where('portal', '=', portal)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

export function identitiesOf(store: Store, portal: Portal, accountId: AccountId): Promise<LinkedIdentity[]> {
  return store
    .selectFrom('provider_identities')
    .select(columns)
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('bizId')
    .execute()
}

/** Binds a person whom SCIM has provisioned. Returns undefined if the person is unknown, or was bound before. */
export function bindProvisioned(
  tx: Tx,
  { portal, issuer, subject }: Person,
  { providerId, externalId }: { providerId: string; externalId: string },
  at: Instant,
): Promise<LinkedIdentity | undefined> {
  return tx
    .updateTable('provider_identities')
    .set({ subject, issuer, linkedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('providerId', '=', providerId)
    .where('externalId', '=', externalId)
    .where('subject', 'is', null)
    .returning(columns)
    .executeTakeFirst()
}

/** Whether SCIM has provisioned the account. */
export async function isProvisioned(
  tx: Tx,
  { portal, id }: { portal: Portal; id: AccountId },
  providerId: string,
): Promise<boolean> {
  const found = await tx
    .selectFrom('provider_identities')
    .select('bizId')
    .where('portal', '=', portal)
    .where('accountBizId', '=', id)
    .where('providerId', '=', providerId)
    .where('externalId', 'is not', null)
    .executeTakeFirst()
  return found !== undefined
}

export interface NewIdentity extends Person {
  id: IdentityId
  accountId: AccountId
  providerId: string
}

/** Returns false if the person has another account, or the account has another person of this provider. */
export async function insertIdentity(tx: Tx, identity: NewIdentity, at: Instant): Promise<boolean> {
  const { id, portal, accountId, providerId, issuer, subject } = identity
  const now = toDate(at)
  const inserted = await tx
    .insertInto('provider_identities')
    .values({
      ...{ bizId: id, portal, accountBizId: accountId, providerId, issuer, subject, externalId: null },
      ...{ createdAt: now, linkedAt: now, lastSignInAt: null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('bizId')
    .executeTakeFirst()
  return inserted !== undefined
}

export async function deleteIdentity(
  tx: Tx,
  owner: { portal: Portal; accountId: AccountId },
  providerId: string,
): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('provider_identities')
    .where('portal', '=', owner.portal)
    .where('accountBizId', '=', owner.accountId)
    .where('providerId', '=', providerId)
    .returning('bizId')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function recordProviderSignIn(tx: Tx, portal: Portal, id: IdentityId, at: Instant): Promise<void> {
  await tx
    .updateTable('provider_identities')
    .set({ lastSignInAt: toDate(at) })
    .where('portal', '=', portal)
    .where('bizId', '=', id)
    .execute()
}

export interface NewInvitation {
  id: BizId<'invitation'>
  portal: Portal
  providerId: string
  emailCanonical: string
  invitedBy: AccountId
  expiresAt: Instant
}

/** Replaces an earlier invitation of the person. */
export async function putInvitation(tx: Tx, invitation: NewInvitation, at: Instant): Promise<void> {
  const { id, portal, providerId, emailCanonical, invitedBy, expiresAt } = invitation
  const times = { createdAt: toDate(at), expiresAt: toDate(expiresAt) }
  await tx
    .insertInto('provider_invitations')
    .values({ bizId: id, portal, providerId, emailCanonical, invitedBy, ...times, acceptedAt: null })
    .onConflict((conflict) =>
      conflict
        .columns(['portal', 'providerId', 'emailCanonical'])
        .where('acceptedAt', 'is', null)
        .doUpdateSet({ bizId: id, invitedBy, ...times }),
    )
    .execute()
}

/** Returns false without a valid invitation. Only one sign-in can spend it. */
export async function spendInvitation(
  tx: Tx,
  { portal, providerId, emailCanonical }: Pick<NewInvitation, 'portal' | 'providerId' | 'emailCanonical'>,
  at: Instant,
): Promise<boolean> {
  const spent = await tx
    .updateTable('provider_invitations')
    .set({ acceptedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('providerId', '=', providerId)
    .where('emailCanonical', '=', emailCanonical)
    .where('acceptedAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', at))
    .returning('bizId')
    .executeTakeFirst()
  return spent !== undefined
}

/** Returns false if the logout token was used before. */
export async function spendLogoutToken(
  tx: Tx,
  token: { portal: Portal; providerId: string; tokenId: string; expiresAt: Instant },
): Promise<boolean> {
  const spent = await tx
    .insertInto('provider_logouts')
    .values({ ...token, expiresAt: toDate(token.expiresAt) })
    .onConflict((conflict) => conflict.doNothing())
    .returning('tokenId')
    .executeTakeFirst()
  return spent !== undefined
}

/**
 * Ends sessions that a provider started: those of a session at the provider, or without `sid` those of a person. Returns the
 * ones that were active.
 */
export async function endProviderSessions(
  tx: Tx,
  { portal, providerId, sid, accountId }: EndedSessions,
  at: Instant,
): Promise<{ id: SessionId; accountId: AccountId }[]> {
  let open = tx
    .updateTable('sessions')
    .set({ endedAt: toDate(at), endReason: 'PROVIDER_LOGOUT' })
    .where('portal', '=', portal)
    .where('providerId', '=', providerId)
    .where('endedAt', 'is', null)
  if (sid !== null) open = open.where((row) => row.or([row('providerSid', '=', sid), row('providerSid', 'is', null)]))
  if (accountId !== null) open = open.where('accountBizId', '=', accountId)
  else open = open.where('providerSid', '=', sid)
  return open.returning(['bizId as id', 'accountBizId as accountId']).execute()
}

interface EndedSessions {
  portal: Portal
  providerId: string
  sid: string | null
  /** Null if the provider named no person. */
  accountId: AccountId | null
}

export interface ProviderSessionRow {
  providerId: string | null
  token: Uint8Array | null
}

export function providerOfSession(
  store: Store,
  portal: Portal,
  sessionId: SessionId,
): Promise<ProviderSessionRow | undefined> {
  return store
    .selectFrom('sessions')
    .select(['providerId', 'providerToken as token'])
    .where('portal', '=', portal)
    .where('bizId', '=', sessionId)
    .executeTakeFirst()
}

/** Of an account, for the invalidation of caches. */
export async function openSessionIds(
  store: Store,
  portal: Portal,
  accountId: AccountId,
  at: Instant,
): Promise<SessionId[]> {
  const open = await store
    .selectFrom('sessions')
    .select('bizId')
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', timestamptz(at))
    .execute()
  return open.map(({ bizId }) => bizId)
}
