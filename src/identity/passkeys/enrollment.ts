import type { Tx } from '../../database/index.ts'
import { type Instant, Refusal } from '../../kernel/index.ts'
import { firstOf } from '../../platform/crypto/index.ts'
import type { Account } from '../accounts/store.ts'
import { isPasskeyMissing } from '../mfa/rules.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { cancelPasswordTokens, findTokenAccount, insertPasswordToken, spendPasswordToken } from '../passwords/store.ts'
import type { CallerContext, IdentityPorts } from '../ports.ts'
import { assertSession, permissionsOfPasskey, resistsPhishing } from '../sessions/rules.ts'
import { readOpenSession } from '../sessions/store.ts'
import { assertOpaqueToken, mintToken } from '../tokens/rules.ts'
import type { Passkey } from '../webauthn/store.ts'

/*
 * Enrolled passkeys give operators the permissions of `mfa.required.passkey`. A phisher with a password and a code could
 * otherwise register a passkey, and would then have these permissions, or get them with the next grant. A token enrolls
 * the first one. It comes from an administrator of the host, and not by mail. A session of an enrolled passkey enrolls
 * further ones.
 */

type EnrollmentPorts = Pick<MfaPorts, 'clock' | 'digest' | 'settings'>

/** Returns a token that registers one passkey. Earlier tokens of the account become invalid. */
export async function createEnrollment(
  { digest, randomness }: Pick<IdentityPorts, 'digest' | 'randomness'>,
  tx: Tx,
  { portal, id: accountId }: Pick<Account, 'portal' | 'id'>,
  { at, expiresAt }: { at: Instant; expiresAt: Instant },
): Promise<string> {
  const token = mintToken(randomness)
  await cancelPasswordTokens(tx, portal, accountId, at, ['PASSKEY'])
  const stored = { digest: digest('password-token', token), portal, accountId, purpose: 'PASSKEY', expiresAt } as const
  await insertPasswordToken(tx, stored, at)
  return token
}

/**
 * Returns the digest of the token, or null without one. An operator can use a token before getting the permissions.
 * Throws ACCESS.PASSKEY_REQUIRED.
 */
export async function assertEnrollment(
  ports: EnrollmentPorts,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  token: string | undefined,
  context: CallerContext,
): Promise<Uint8Array | null> {
  if (token === undefined) {
    await assertEnrolls(ports, tx, account, existing, context)
    return null
  }
  const { clock, digest } = ports
  assertOpaqueToken(token)
  const { portal, id } = account
  const found = await firstOf(digest.candidates('password-token', token), async (each) => {
    const owner = await findTokenAccount(tx, { portal, purpose: 'PASSKEY', digest: each }, clock.now())
    return owner === id ? each : undefined
  })
  if (!found) throw missing('an enrollment token is unknown, expired or used')
  return found
}

/** Returns whether the new passkey is enrolled. A token enrolls one passkey. Throws ACCESS.PASSKEY_REQUIRED. */
export async function spendEnrollment(
  ports: EnrollmentPorts,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  digest: Uint8Array | null,
  context: CallerContext,
): Promise<boolean> {
  if (digest === null) return assertEnrolls(ports, tx, account, existing, context)
  const key = { portal: account.portal, purpose: 'PASSKEY', digest } as const
  if (!(await spendPasswordToken(tx, key, ports.clock.now()))) throw missing('the enrollment token was used')
  return true
}

/**
 * Whether a session without a token enrolls a passkey. Without permissions that need one, any step-up registers it, and it
 * does not count.
 */
async function assertEnrolls(
  { settings }: EnrollmentPorts,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  { caller }: CallerContext,
): Promise<boolean> {
  if (permissionsOfPasskey(settings, account).length === 0) return false
  if (isPasskeyMissing(settings, account, existing))
    throw missing('the first passkey of an operator who needs one lacks an enrollment token')
  const { portal, sessionId } = assertSession(caller)
  const session = await readOpenSession(tx, portal, sessionId)
  if (!session || !resistsPhishing(session)) throw missing('the session was not started with an enrolled passkey')
  return true
}

function missing(internal: string): Refusal {
  return new Refusal('ACCESS.PASSKEY_REQUIRED', { internal })
}
