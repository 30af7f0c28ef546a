import { run, type Statements, type Tx, together } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { type IdentitySettings, type PasskeySettings, rulesOf } from '../settings.ts'
import { challengeOf, type VerifiedAssertion, verifyAssertion } from './ceremony.ts'
import { type ChallengeBinding, type StoredChallenge, spendChallenge } from './challenge-store.ts'
import { digestsOf } from './challenges.ts'
import type { AssertionCredential } from './contract.ts'
import { fromBase64url, invalidPasskey, toBase64url } from './encoding.ts'
import { type Passkey, passkeyWithCredential, usePasskey } from './store.ts'

interface PasskeyPorts extends Pick<IdentityPorts, 'digest'> {
  settings: Pick<IdentitySettings, 'portals'>
}

/** Throws AUTH.PASSKEYS_NOT_AVAILABLE. */
export function passkeySettings(settings: Pick<IdentitySettings, 'portals'>, portal: Portal): PasskeySettings {
  const { passkeys } = rulesOf(settings, portal)
  if (!passkeys) throw new Refusal('AUTH.PASSKEYS_NOT_AVAILABLE', { internal: `portals.${portal}.passkeys is not set` })
  return passkeys
}

/**
 * Verifies a passkey of an account whose identity is known: the first statements, and the rest. The rest throws
 * AUTH.PASSKEY_INVALID, after which the caller must roll back, so that the challenge remains. It returns what the audit
 * log keeps: everything that is needed to verify the signature later.
 */
export function passkeyFactor(
  ports: PasskeyPorts,
  { portal, id, challenge: binding }: { portal: Portal; id: AccountId; challenge: ChallengeBinding },
  credential: AssertionCredential,
  context: RequestContext,
  now: Instant,
): Statements<(tx: Tx) => Promise<Record<string, string>>> {
  const settings = passkeySettings(ports.settings, portal)
  const challenge = challengeOf(credential)
  if (!challenge) throw invalidPasskey('the client data has no challenge')
  const statements = together([
    spendChallenge(binding, digestsOf(ports, challenge, context), now),
    passkeyWithCredential(portal, fromBase64url(credential.id)),
  ])
  return statements.map(([spent, known]) => async (tx) => {
    const passkey = known?.accountId === id ? known : undefined
    const expected = { issuedAt: spent?.createdAt, passkey, isDiscovered: false }
    const verified = await verifyAssertion(settings, credential, expected)
    await keepUse(tx, passkey, verified, now)
    return { method: 'PASSKEY', ...proofOf(credential, passkey, spent) }
  })
}

/** Evidence with which anybody can verify the signature later. The passkey can be deleted meanwhile. */
function proofOf(
  { id, response }: AssertionCredential,
  passkey: Passkey | undefined,
  challenge: StoredChallenge | undefined,
): Record<string, string> {
  if (!passkey || !challenge) return {}
  const { clientDataJSON, authenticatorData, signature } = response
  const nonce = challenge.nonce === null ? {} : { nonce: toBase64url(challenge.nonce) }
  const key = { passkey: passkey.id, credentialId: id, publicKey: toBase64url(passkey.publicKey) }
  return { ...key, ...nonce, clientDataJSON, authenticatorData, signature }
}

async function keepUse(tx: Tx, passkey: Passkey | undefined, verified: VerifiedAssertion, now: Instant): Promise<void> {
  if (!passkey || !(await run(tx, usePasskey(passkey, verified, now))))
    throw invalidPasskey('the passkey was used or changed concurrently')
}
