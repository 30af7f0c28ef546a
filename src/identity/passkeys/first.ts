import { inTransaction, type Tx } from '../../database/index.ts'
import { conflict, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { type Account, lockAccount } from '../accounts/store.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { isWrongFactor } from '../mfa/verify.ts'
import { findMailedToken } from '../passwords/recovery.ts'
import { findTokenAccount, type TokenKey } from '../passwords/store.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { challengeOf, createCreationOptions, verifyRegistration } from '../webauthn/ceremony.ts'
import { type ChallengeBinding, takeChallenge } from '../webauthn/challenge-store.ts'
import { createChallenge, digestsOf, signInBinding } from '../webauthn/challenges.ts'
import type { CreationOptions, RegistrationCredential } from '../webauthn/contract.ts'
import { invalidPasskey } from '../webauthn/encoding.ts'
import { passkeySettings } from '../webauthn/factor.ts'
import { type Passkey, readPasskeys } from '../webauthn/store.ts'
import { addPasskey, labelOf } from './service.ts'

/*
 * The passkey of a person who has just registered. They have no session yet. The token of their registration, which also
 * sets the first password, takes the place of a step-up: its holder decides about the account anyway. It adds one passkey,
 * as long as it has not set the password.
 */

/** Throws AUTH.PASSKEYS_NOT_AVAILABLE, AUTH.SESSION_NOT_FOUND, or STATE.CONFLICT if the account has a passkey. */
export async function startFirstPasskey(
  ports: MfaPorts,
  token: string,
  context: RequestContext,
): Promise<CreationOptions> {
  const { clock, database, settings } = ports
  const passkeys = passkeySettings(settings, context.portal)
  const { key, account: found } = await findMailedToken(ports, { portal: context.portal, purpose: 'INIT', token })
  return inTransaction(database, async (tx) => {
    const account = await lockRegistered(ports, tx, key, found)
    const challenge = await createChallenge(ports, tx, bindingOf(key), context)
    const auditContext = unauthenticatedAuditContext(account.id, context, clock.now())
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId: account.id })
    return createCreationOptions(passkeys, account, { challenge, issuer: settings.mfa.issuer, existing: [] })
  })
}

export interface FirstPasskey {
  token: string
  name?: string | undefined
  credential: RegistrationCredential
}

/** Throws AUTH.PASSKEY_INVALID, and what `startFirstPasskey` throws. */
export async function registerFirstPasskey(
  ports: MfaPorts,
  { token, name, credential }: FirstPasskey,
  context: RequestContext,
): Promise<Passkey> {
  const { clock, database } = ports
  const passkeys = passkeySettings(ports.settings, context.portal)
  const { key, account: found } = await findMailedToken(ports, { portal: context.portal, purpose: 'INIT', token })
  const now = clock.now()
  const auditContext = unauthenticatedAuditContext(found.id, context, now)
  try {
    const challenge = challengeOf(credential)
    if (!challenge) throw invalidPasskey('the client data has no challenge')
    const facts = await verifyRegistration(passkeys, credential, challenge, now)
    return await inTransaction(database, async (tx) => {
      const account = await lockRegistered(ports, tx, key, found)
      if (!(await takeChallenge(tx, bindingOf(key), digestsOf(ports, challenge, context), now)))
        throw invalidPasskey('the challenge is unknown, expired or used')
      const named = { facts, label: labelOf(ports, name, context), isEnrolled: false, now }
      return addPasskey(ports, tx, account, named, auditContext, context)
    })
  } catch (error) {
    if (isWrongFactor(error)) {
      const detail = { reason: 'PASSKEY_INVALID' }
      await recordRefusal(database, auditContext, { workspaceId: null, targetId: found.id, detail })
    }
    throw error
  }
}

/** The challenge belongs to the token, as one of a sign-in belongs to its attempt. */
function bindingOf({ portal, digest }: TokenKey): ChallengeBinding {
  return signInBinding(portal, digest)
}

/** Locks the account before it reads the token, as the first password does. Of both, the later one sees the other. */
async function lockRegistered(
  { clock }: Pick<MfaPorts, 'clock'>,
  tx: Tx,
  key: TokenKey,
  { portal, id }: Account,
): Promise<Account> {
  const account = await lockAccount(tx, portal, id)
  if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL')
    throw sessionNotFound('the account is suspended or rejected')
  if ((await findTokenAccount(tx, key, clock.now())) !== id) throw sessionNotFound('the token is spent')
  if ((await readPasskeys(tx, account)).length > 0) throw conflict('the account has a passkey')
  return account
}
