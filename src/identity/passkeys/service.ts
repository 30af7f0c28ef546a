import { inTransaction, type Tx } from '../../database/index.ts'
import {
  conflict,
  hasWorkspaces,
  type Instant,
  notFound,
  passkeyRequired,
  Refusal,
  type RequestContext,
} from '../../kernel/index.ts'
import { type AuditContext, auditContextOf, recordRefusal, recordSuccess } from '../../platform/audit/index.ts'
import { lockOwnAccount, ownAccount } from '../accounts/service.ts'
import type { Account } from '../accounts/store.ts'
import { mfaMethod } from '../mfa/contract.ts'
import { keepFormerPasskey } from '../mfa/recovery/young.ts'
import { allowsMailCodes, countedPasskeys, isPasskeyMissing, usablePasskeys } from '../mfa/rules.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { lockOtp } from '../mfa/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession, needsPasskey } from '../sessions/rules.ts'
import { lockAccountOfSession } from '../sessions/service.ts'
import { endPasskeySessions } from '../sessions/store.ts'
import { rulesOf } from '../settings.ts'
import { returnStepUp } from '../step-ups/returned.ts'
import { challengeOf, createCreationOptions, type RegisteredFacts, verifyRegistration } from '../webauthn/ceremony.ts'
import { takeChallenge } from '../webauthn/challenge-store.ts'
import { createChallenge, digestsOf, registrationBinding } from '../webauthn/challenges.ts'
import type { CreationOptions, RegistrationCredential } from '../webauthn/contract.ts'
import { invalidPasskey, toBase64url } from '../webauthn/encoding.ts'
import { passkeySettings } from '../webauthn/factor.ts'
import { deletePasskeys, insertPasskey, type Passkey, readPasskeys, updatePasskeyName } from '../webauthn/store.ts'
import { createPasskeyOptions } from './contract.ts'
import { assertEnrollment, spendEnrollment } from './enrollment.ts'

const maxPasskeys = 10

/**
 * The step-up of this command allows the registration, which the challenge binds to the session. A refusal, such as of a
 * mistyped enrollment token, uses up no step-up. Throws AUTH.PASSKEYS_NOT_AVAILABLE, ACCESS.PASSKEY_REQUIRED, or
 * STATE.CONFLICT if the account has the maximum number of passkeys.
 */
export async function startRegistration(
  ports: MfaPorts,
  enrollmentToken: string | undefined,
  context: CallerContext,
): Promise<CreationOptions> {
  try {
    return await createOptions(ports, enrollmentToken, context)
  } catch (error) {
    if (error instanceof Refusal) await returnStepUp(ports.database, createPasskeyOptions, context)
    throw error
  }
}

/** Throws AUTH.PASSKEY_INVALID, ACCESS.PASSKEY_REQUIRED, or STATE.CONFLICT for a credential that the portal has. */
export async function registerPasskey(
  ports: MfaPorts,
  { name, credential }: { name?: string | undefined; credential: RegistrationCredential },
  context: CallerContext,
): Promise<Passkey> {
  const { clock, database, settings } = ports
  const session = assertSession(context.caller)
  const passkeys = passkeySettings(settings, session.portal)
  try {
    const challenge = challengeOf(credential)
    if (!challenge) throw invalidPasskey('the client data has no challenge')
    const facts = await verifyRegistration(passkeys, credential, challenge, clock.now())
    const label = labelOf(ports, name, context)
    return await inTransaction(database, async (tx) => {
      const account = await lockAccountOfSession(tx, context.caller)
      // After the wait for the account, so that a step-up in the meantime is older than the passkey.
      const now = clock.now()
      const binding = registrationBinding(session.portal, session.sessionId)
      const spent = await takeChallenge(tx, binding, digestsOf(ports, challenge, context), now)
      if (!spent) throw invalidPasskey('the challenge is unknown, expired or used')
      const existing = await readPasskeys(tx, account)
      assertRoom(existing)
      const { createdAt, enrollmentDigest } = spent
      assertNoneSince(settings, account, existing, createdAt)
      const isEnrolled = await spendEnrollment(ports, tx, account, existing, enrollmentDigest, context)
      await holdIfFirst(ports, tx, account, existing, now)
      return addPasskey(ports, tx, account, { facts, label, isEnrolled, now }, auditContextOf(context), context)
    })
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.PASSKEY_INVALID') {
      const event = { workspaceId: null, targetId: session.accountId, detail: { reason: 'PASSKEY_INVALID' } }
      await recordRefusal(database, auditContextOf(context), event)
    }
    throw error
  }
}

export function labelOf(
  { words }: Pick<MfaPorts, 'words'>,
  name: string | undefined,
  { locale }: RequestContext,
): string {
  return name ?? words.coded(mfaMethod, 'PASSKEY', locale).label
}

interface VerifiedPasskey {
  facts: RegisteredFacts
  label: string
  isEnrolled: boolean
  now: Instant
}

/** The account must be locked. Throws STATE.CONFLICT for a credential that the portal has. */
export async function addPasskey(
  { ids }: Pick<MfaPorts, 'ids'>,
  tx: Tx,
  account: Account,
  { facts, label, isEnrolled, now }: VerifiedPasskey,
  auditContext: AuditContext,
  context: RequestContext,
): Promise<Passkey> {
  const owner = { id: ids.next(), portal: account.portal, accountId: account.id, name: label, isEnrolled }
  if (!(await insertPasskey(tx, { ...facts, ...owner }, now))) throw conflict('the portal already has the credential')
  const { aaguid, deviceType } = facts
  const key = { credentialId: toBase64url(facts.credentialId), publicKey: toBase64url(facts.publicKey) }
  const detail = { passkey: owner.id, ...key, aaguid, deviceType, isEnrolled }
  await recordSuccess(tx, auditContext, { workspaceId: null, targetId: account.id, detail })
  await queueNotice(tx, ids, account, 'PASSKEY_ADDED', context, now)
  return { ...facts, ...owner, createdAt: now, lastUsedAt: null, suspendedAt: null }
}

export async function listPasskeys({ database }: MfaPorts, { caller }: CallerContext): Promise<Passkey[]> {
  return readPasskeys(database, await ownAccount(database, caller))
}

/** Throws RESOURCE.NOT_FOUND. */
export function renamePasskey(
  { database }: MfaPorts,
  { passkeyId, name }: { passkeyId: string; name: string },
  context: CallerContext,
): Promise<Passkey> {
  return inTransaction(database, async (tx) => {
    const account = await lockOwnAccount(tx, context.caller)
    const renamed = await updatePasskeyName(tx, account, passkeyId, name)
    if (!renamed) throw notFound('not a passkey of the account')
    const detail = { passkey: passkeyId }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id, detail })
    return renamed
  })
}

/**
 * Returns the deleted passkey. Ends the other sessions that were started with a passkey, because its device may be lost.
 * Throws RESOURCE.NOT_FOUND, or AUTH.AUTHENTICATOR_REQUIRED for the last factor of an account that needs one.
 */
export async function deletePasskey(ports: MfaPorts, passkeyId: string, context: CallerContext): Promise<Passkey> {
  const { clock, database, ids, sessionCache } = ports
  const { passkey, ended } = await inTransaction(database, async (tx) => {
    const account = await lockAccountOfSession(tx, context.caller)
    const now = clock.now()
    const all = await readPasskeys(tx, account)
    const found = all.find(({ id }) => id === passkeyId)
    if (!found) throw notFound('not a passkey of the account')
    await assertRemovable(ports, tx, account, all, found)
    await keepFormerPasskey(ports, tx, account, found, now)
    await deletePasskeys(tx, account, [passkeyId])
    const { portal, id: accountId } = account
    const sessions = await endPasskeySessions(tx, { portal, accountId, except: context.caller.sessionId }, now)
    const detail = { passkey: passkeyId, sessions: sessions.length }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id, detail })
    await queueNotice(tx, ids, account, 'PASSKEY_REMOVED', context, now)
    return { passkey: found, ended: sessions }
  })
  for (const id of ended) sessionCache.invalidate(id)
  return passkey
}

async function createOptions(
  ports: MfaPorts,
  enrollmentToken: string | undefined,
  context: CallerContext,
): Promise<CreationOptions> {
  const { database, settings } = ports
  const session = assertSession(context.caller)
  const passkeys = passkeySettings(settings, session.portal)
  return inTransaction(database, async (tx) => {
    const account = await lockAccountOfSession(tx, context.caller)
    const existing = await readPasskeys(tx, account)
    assertRoom(existing)
    assertNoneSince(settings, account, existing, context.caller.steppedUpAt)
    const enrollmentDigest = await assertEnrollment(ports, tx, account, existing, enrollmentToken, context)
    const binding = { ...registrationBinding(session.portal, session.sessionId), enrollmentDigest }
    const challenge = await createChallenge(ports, tx, binding, context)
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: account.id })
    // A device can replace a passkey that does not count by one that does.
    const excluded = enrollmentDigest === null ? existing : existing.filter(({ isEnrolled }) => isEnrolled)
    return createCreationOptions(passkeys, account, { challenge, issuer: settings.mfa.issuer, existing: excluded })
  })
}

function assertRoom(existing: readonly Passkey[]): void {
  if (existing.length >= maxPasskeys) throw conflict(`the account has ${maxPasskeys} passkeys`)
}

/**
 * Otherwise, a thief could step up with a code before a consumer registers the first passkey, and add another one later.
 * Operators need a token or a session of an enrolled passkey.
 */
function assertNoneSince(
  settings: MfaPorts['settings'],
  account: Account,
  existing: readonly Passkey[],
  allowedAt: Instant | null,
): void {
  if (!hasWorkspaces(account.portal) || !needsPasskey(settings, account)) return
  if (existing.some(({ createdAt }) => allowedAt === null || createdAt > allowedAt))
    throw passkeyRequired('a passkey was registered after the step-up')
}

/** Another factor was enough to register it. A consumer gains the permissions that need a passkey. */
async function holdIfFirst(
  { holdPayouts, settings }: Pick<MfaPorts, 'holdPayouts' | 'settings'>,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  at: Instant,
): Promise<void> {
  const { passkey: gained } = rulesOf(settings, account.portal).mfa.required
  if (!hasWorkspaces(account.portal) || gained === 'none' || !isPasskeyMissing(settings, account, existing)) return
  await holdPayouts(tx, { accountId: account.id, gained, at })
}

/** Otherwise, the account could not sign in again, or not use its permissions. */
async function assertRemovable(
  { settings }: MfaPorts,
  tx: Tx,
  account: Account,
  all: readonly Passkey[],
  removed: Passkey,
): Promise<void> {
  const { portal, id } = account
  const rest = all.filter((each) => each !== removed)
  const isLast = (passkeys: readonly Passkey[], others: readonly Passkey[]) =>
    passkeys.includes(removed) && others.length === 0
  const isLastCounted = isLast(countedPasskeys(settings, portal, all), countedPasskeys(settings, portal, rest))
  const mustKeep = isLastCounted && needsPasskey(settings, account)
  if (!mustKeep && !isLast(usablePasskeys(settings, portal, all), usablePasskeys(settings, portal, rest))) return
  const otp = await lockOtp(tx, portal, id)
  const canSignIn = Boolean(otp?.secret) || allowsMailCodes(settings, account, { otp, passkeys: rest })
  if (mustKeep || !canSignIn)
    throw new Refusal('AUTH.AUTHENTICATOR_REQUIRED', { internal: 'the last passkey of an account that needs one' })
}
