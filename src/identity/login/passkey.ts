import { batch, inTransaction, type LastStatements, type Tx } from '../../database/index.ts'
import { Refusal, type RequestContext } from '../../kernel/index.ts'
import { type Account, accountLocked, accountOfPasskey } from '../accounts/store.ts'
import { findSignInDevice } from '../devices/service.ts'
import { recordDevice } from '../devices/store.ts'
import { offeredPasskeys } from '../mfa/rules.ts'
import { spendKeyProof } from '../tokens/key-proof.ts'
import { challengeOf, createRequestOptions, type VerifiedAssertion, verifyAssertion } from '../webauthn/ceremony.ts'
import { type ChallengeDigests, pendingChallenge, spendChallenge } from '../webauthn/challenge-store.ts'
import { createChallenge, digestsOf, signInBinding } from '../webauthn/challenges.ts'
import type { AssertionCredential, RequestOptions } from '../webauthn/contract.ts'
import { suspendingCopies } from '../webauthn/copies.ts'
import { fromBase64url, invalidPasskey } from '../webauthn/encoding.ts'
import { passkeySettings } from '../webauthn/factor.ts'
import { type Passkey, passkeyWithCredential, usePasskey } from '../webauthn/store.ts'
import { recordingFailure } from './complete.ts'
import { findLogin, type LoginPorts, needsProvider } from './service.ts'
import { type CompletedLogin, issueTokens, type SessionClient, type StartedLogin, startLogin } from './start.ts'

/**
 * For a pending sign-in, allows the passkeys of its account. Throws AUTH.PASSKEYS_NOT_AVAILABLE, the refusals of
 * `findLogin`, and AUTH.MFA_METHOD_NOT_ALLOWED if the account has no passkey.
 */
export async function createSignInOptions(
  ports: LoginPorts,
  sessionId: string | undefined,
  context: RequestContext,
): Promise<RequestOptions> {
  const { clock, database, settings } = ports
  const { portal } = context
  const passkeys = passkeySettings(settings, portal)
  if (sessionId === undefined) {
    const challenge = await createChallenge(ports, database, signInBinding(portal, null), context)
    return createRequestOptions(passkeys, challenge)
  }
  const login = await findLogin(ports, sessionId, context, clock.now())
  const allowed = offeredPasskeys(settings, login.account, login.passkeys)
  if (allowed.length === 0) throw new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal: 'the account has no passkey' })
  const challenge = await createChallenge(ports, database, signInBinding(portal, login.digest), context)
  return createRequestOptions(passkeys, challenge, allowed)
}

/** Throws what `signInByPasskey` throws. */
export async function completeByPasskey(
  ports: LoginPorts,
  credential: AssertionCredential,
  context: RequestContext,
): Promise<CompletedLogin> {
  const started = await signInByPasskey(ports, credential, context, { kind: 'tokens', replaced: null })
  return issueTokens(ports, started, context)
}

/**
 * Signs in without a name and a password. Until the signature is verified, unknown and known credentials take the same
 * statements and the same work. Throws AUTH.PASSKEY_INVALID for any reason, and, for a verified credential,
 * AUTH.PENDING_APPROVAL, ACCESS.IP_NOT_ALLOWED, or what `spendKeyProof` throws.
 */
export async function signInByPasskey(
  ports: LoginPorts,
  credential: AssertionCredential,
  context: RequestContext,
  client: SessionClient,
): Promise<StartedLogin> {
  const { clock, database, digest, settings } = ports
  const { portal } = context
  const passkeys = passkeySettings(settings, portal)
  const challenge = challengeOf(credential)
  if (!challenge) throw invalidPasskey('the client data has no challenge')
  const credentialId = fromBase64url(credential.id)
  const binding = signInBinding(portal, null)
  const digests = digestsOf({ digest }, challenge, context)
  // The challenge last: once it is used, the counter of the passkey is higher.
  const [passkey, account, pending] = await batch(database, [
    passkeyWithCredential(portal, credentialId),
    accountOfPasskey(portal, credentialId),
    pendingChallenge(binding, digests, clock.now()),
  ])
  const expected = { issuedAt: pending?.createdAt, passkey, isDiscovered: true }
  const verify = () => suspendingCopies(ports, context, () => verifyAssertion(passkeys, credential, expected))
  const subject = { accountId: account?.id ?? null, method: 'PASSKEY' } as const
  const started = await recordingFailure(ports, subject, context, async () => {
    const verified = await verify()
    // `verifyAssertion` refuses an unknown credential.
    if (!passkey || !account) throw invalidPasskey('the credential is unknown')
    assertActive(account)
    await ports.addressGuard.assertAllowed({ ...account, accountId: account.id }, context.clientIp)
    await spendKeyProof(ports, context)
    return inTransaction(database, (tx) => finish(ports, tx, { passkey, verified, digests }, account, context, client))
  })
  for (const id of started.displaced) ports.sessionCache.invalidate(id)
  return started
}

interface Assertion {
  passkey: Passkey
  verified: VerifiedAssertion
  digests: ChallengeDigests
}

/** The account lock is the first statement, so that the others, which are sent with it, wait for it. */
async function finish(
  ports: LoginPorts,
  tx: Tx,
  { passkey, verified, digests }: Assertion,
  { id, email }: Account,
  context: RequestContext,
  client: SessionClient,
): Promise<LastStatements<StartedLogin>> {
  const { clock, digest, lockout, settings } = ports
  const { portal } = context
  const now = clock.now()
  const [account, spent, isUsed, device, isNewDevice] = await batch(tx, [
    accountLocked(portal, id),
    spendChallenge(signInBinding(portal, null), digests, now),
    usePasskey(passkey, verified, now),
    findSignInDevice(ports, settings.login, { portal, email }, context),
    recordDevice(id, digest.candidates('client-hash', context.clientHash), now),
  ])
  if (!account) throw invalidPasskey('the account does not exist')
  assertActive(account)
  if (needsProvider(settings, account)) throw invalidPasskey('the account signs in at its identity provider')
  if (!spent) throw invalidPasskey('the challenge was used concurrently')
  if (!isUsed) throw invalidPasskey('the passkey was used or changed concurrently')
  const { id: passkeyId, isEnrolled: enrolledPasskey } = passkey
  const facts = { ...client, signedInBy: 'PASSKEY', passkeyId, enrolledPasskey, isNewDevice } as const
  const subject = lockout.loginSubject(portal, account.email, device.known)
  return startLogin(ports, tx, account, facts, [lockout.clear(subject)], context, now)
}

/** The signature has proven the owner, so the status can be revealed. */
function assertActive({ status }: Account): void {
  if (status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (status !== 'ACTIVE') throw invalidPasskey('the account is not active')
}
