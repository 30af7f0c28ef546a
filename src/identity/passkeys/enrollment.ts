import type { Tx } from '../../database/index.ts'
import { type Instant, Refusal } from '../../kernel/index.ts'
import { firstOf } from '../../platform/crypto/index.ts'
import type { Account } from '../accounts/store.ts'
import { isPasskeyMissing } from '../mfa/rules.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { cancelPasswordTokens, findTokenAccount, insertPasswordToken, spendPasswordToken } from '../passwords/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { assertOpaqueToken, mintToken } from '../tokens/rules.ts'
import type { Passkey } from '../webauthn/store.ts'

/*
 * The first passkey of an operator who needs one. A phisher with a password and a code could otherwise enroll
 * a passkey, and would then have the permissions that the passkey protects. The token comes from an administrator of
 * the host, and not by mail.
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

/** Returns the digest of the token, or null if the account needs none. Throws ACCESS.PASSKEY_REQUIRED. */
export async function assertEnrollment(
  { clock, digest, settings }: EnrollmentPorts,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  token: string | undefined,
): Promise<Uint8Array | null> {
  if (!needsEnrollment(settings, account, existing)) return null
  if (token === undefined) throw missing('without an enrollment token')
  assertOpaqueToken(token)
  const { portal, id } = account
  const found = await firstOf(digest.candidates('password-token', token), async (each) => {
    const owner = await findTokenAccount(tx, { portal, purpose: 'PASSKEY', digest: each }, clock.now())
    return owner === id ? each : undefined
  })
  if (!found) throw missing('with an enrollment token that is unknown, expired or used')
  return found
}

/** A token registers one passkey, even if the account has another one meanwhile. */
export async function spendEnrollment(
  { settings }: EnrollmentPorts,
  tx: Tx,
  account: Account,
  existing: readonly Passkey[],
  digest: Uint8Array | null,
  now: Instant,
): Promise<void> {
  if (digest === null && !needsEnrollment(settings, account, existing)) return
  const key = digest && ({ portal: account.portal, purpose: 'PASSKEY', digest } as const)
  if (!key || !(await spendPasswordToken(tx, key, now))) throw missing('with an enrollment token that was used')
}

function needsEnrollment(settings: MfaPorts['settings'], account: Account, existing: readonly Passkey[]): boolean {
  return account.portal === 'SYSTEM' && isPasskeyMissing(settings, account, existing)
}

function missing(how: string): Refusal {
  return new Refusal('ACCESS.PASSKEY_REQUIRED', { internal: `the first passkey of an operator ${how}` })
}
