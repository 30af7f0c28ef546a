import { type Database, inTransaction, run, type Tx } from '../../database/index.ts'
import { Refusal } from '../../kernel/index.ts'
import { ownAccount } from '../accounts/service.ts'
import type { StepUpPurpose } from '../mfa/contract.ts'
import type { ConfirmedCommand } from '../mfa/purpose.ts'
import { assertStepUpFactor } from '../mfa/rules.ts'
import { findStepUpAfter, finishStepUp, requestedPurpose } from '../mfa/service.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession } from '../sessions/rules.ts'
import { assertSessionOpen } from '../sessions/service.ts'
import { passkeysOf, whereOffered } from '../webauthn/store.ts'
import {
  finishAttempt,
  isAuthenticatedBy,
  type ProviderReply,
  type StartedAttempt,
  startAttempt,
} from './attempts/service.ts'
import type { ProviderPorts } from './ports.ts'
import { refused } from './protocol/exchange.ts'
import { identityOf } from './store.ts'

/**
 * Requests a fresh sign-in (`max_age=0`). Throws AUTH.MFA_METHOD_NOT_ALLOWED if the provider confirms no commands,
 * AUTH.PROVIDER_UNAVAILABLE, ACCESS.PASSKEY_REQUIRED, or the refusals of `parsePurpose`.
 */
export async function startProviderStepUp(
  ports: ProviderPorts,
  {
    providerId,
    returnTo,
    purpose,
  }: { providerId: string; returnTo: string | undefined; purpose: StepUpPurpose | undefined },
  context: CallerContext,
): Promise<StartedAttempt> {
  const session = assertSession(context.caller)
  const { stepUp } = ports.providers.find(session.portal, providerId).settings
  if (!stepUp) throw methodNotAllowed('the provider has no setting stepUp')
  const parsed = await requestedPurpose(ports, purpose, context.caller)
  await assertProviderCounts(ports, ports.database, parsed, context)
  const purposeDigest = parsed && Buffer.from(parsed.digest, 'hex')
  const request = { acrValues: stepUp.acrValues, purpose, purposeDigest }
  return startAttempt(ports, { kind: 'STEP_UP', providerId, returnTo, session, stepUp: request }, context)
}

/**
 * Records a step-up if the person of the account has just signed in at the provider, with one of the accepted factors.
 * Returns the new cookie of a browser session. Throws the refusals of `finishAttempt`, or ACCESS.PASSKEY_REQUIRED.
 */
export async function finishProviderStepUp(
  ports: ProviderPorts,
  reply: ProviderReply,
  context: CallerContext,
): Promise<string | undefined> {
  const { clock, database } = ports
  const session = assertSession(context.caller)
  const { portal, accountId } = session
  const { attempt, directory, identity, purpose } = await finishAttempt(ports, 'STEP_UP', reply, session, context)
  const { id, issuer, stepUp } = directory.settings
  if (!stepUp || !isAuthenticatedBy(identity, stepUp.accepts)) throw refused('the provider used no accepted factor')
  const confirmed = await requestedPurpose(ports, purpose, context.caller)
  if ((confirmed?.digest ?? null) !== (attempt.purposeDigest && Buffer.from(attempt.purposeDigest).toString('hex')))
    throw refused('the step-up was started for another purpose')
  const recorded = inTransaction(database, async (tx) => {
    const now = clock.now()
    await assertSessionOpen(tx, context.caller)
    await assertProviderCounts(ports, tx, confirmed, context)
    const linked = await identityOf(tx, { portal, issuer, subject: identity.subject })
    if (linked?.accountId !== accountId) throw refused('the person is not the owner of the account')
    const { acr, auth_time: authTime } = identity.claims
    const proof = {
      ...{ method: 'PROVIDER', provider: id, identity: linked.id },
      ...(typeof acr === 'string' && { acr }),
      ...(typeof authTime === 'number' && { authTime }),
    }
    return finishStepUp(ports, tx, confirmed, proof, context, now)
  })
  return findStepUpAfter(ports, session, recorded)
}

/** Throws ACCESS.PASSKEY_REQUIRED: a sign-in at a provider takes the place of no passkey, because another person administers it. */
async function assertProviderCounts(
  { settings }: ProviderPorts,
  store: Database | Tx,
  purpose: ConfirmedCommand | null,
  { caller }: CallerContext,
): Promise<void> {
  const account = await ownAccount(store, caller)
  const passkeys = await run(store, whereOffered(settings, account.portal, passkeysOf(account)))
  assertStepUpFactor(settings, account, passkeys, 'PROVIDER', purpose?.operation ?? null)
}

function methodNotAllowed(internal: string): Refusal {
  return new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal })
}
