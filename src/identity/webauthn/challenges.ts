import { hash } from 'node:crypto'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  canonicalJson,
  type Instant,
  type Portal,
  type RequestContext,
  type SessionId,
} from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { challengeMs } from './ceremony.ts'
import { type ChallengeBinding, type ChallengeDigests, insertChallenge } from './challenge-store.ts'
import { toBase64url } from './encoding.ts'

const challengeBytes = 32
const nonceBytes = 16

type ChallengePorts = Pick<IdentityPorts, 'clock' | 'digest' | 'randomness'>

export interface StepUpChallenge {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
  /** Hex SHA-256 of the canonical purpose, or null without a purpose. */
  purposeDigest: string | null
  nonce: Uint8Array
}

/** Stores a random challenge, and returns it. The store gets only its digest. */
export async function createChallenge(
  ports: ChallengePorts,
  store: Database | Tx,
  binding: ChallengeBinding & { enrollmentDigest?: Uint8Array | null },
  context: RequestContext,
): Promise<Uint8Array> {
  const challenge = ports.randomness.bytes(challengeBytes)
  await putChallenge(ports, store, { ...binding, challenge, nonce: null }, context)
  return challenge
}

/** Like `createChallenge`. The challenge is derived from the purpose, so that the signature confirms it. */
export async function createStepUpChallenge(
  ports: ChallengePorts,
  store: Database | Tx,
  stepUp: Omit<StepUpChallenge, 'nonce'>,
  context: RequestContext,
): Promise<Uint8Array> {
  const nonce = ports.randomness.bytes(nonceBytes)
  const challenge = stepUpChallenge({ ...stepUp, nonce })
  await putChallenge(ports, store, { ...stepUpBinding(stepUp), challenge, nonce }, context)
  return challenge
}

export function stepUpBinding({ portal, sessionId, purposeDigest }: Omit<StepUpChallenge, 'nonce'>): ChallengeBinding {
  const digest = purposeDigest === null ? null : Buffer.from(purposeDigest, 'hex')
  return { portal, kind: 'STEP_UP', sessionId, attemptDigest: null, purposeDigest: digest }
}

export function signInBinding(portal: Portal, attemptDigest: Uint8Array | null): ChallengeBinding {
  return { portal, kind: 'SIGN_IN', sessionId: null, attemptDigest, purposeDigest: null }
}

export function registrationBinding(portal: Portal, sessionId: SessionId): ChallengeBinding {
  return { portal, kind: 'REGISTER', sessionId, attemptDigest: null, purposeDigest: null }
}

export function digestsOf(
  { digest }: Pick<IdentityPorts, 'digest'>,
  challenge: Uint8Array,
  { clientHash }: Pick<RequestContext, 'clientHash'>,
): ChallengeDigests {
  return {
    digests: digest.candidates('passkey-challenge', toBase64url(challenge)),
    clientDigests: digest.candidates('client-hash', clientHash),
  }
}

async function putChallenge(
  { clock, digest }: ChallengePorts,
  store: Database | Tx,
  created: ChallengeBinding & { challenge: Uint8Array; nonce: Uint8Array | null; enrollmentDigest?: Uint8Array | null },
  { clientHash }: RequestContext,
): Promise<void> {
  const { challenge, enrollmentDigest = null, ...binding } = created
  const now: Instant = clock.now()
  const digests = {
    digest: digest('passkey-challenge', toBase64url(challenge)),
    clientDigest: digest('client-hash', clientHash),
  }
  await insertChallenge(store, { ...binding, ...digests, enrollmentDigest, expiresAt: addMs(now, challengeMs) }, now)
}

/**
 * SHA-256 of the canonical JSON (RFC 8785) of the step-up. docs/guides/passkeys.md describes how to verify an entry of the
 * audit log.
 */
function stepUpChallenge({ portal, accountId, sessionId, purposeDigest, nonce }: StepUpChallenge): Uint8Array {
  const confirmed = { account: accountId, portal, purpose: purposeDigest, session: sessionId }
  return hash('sha256', canonicalJson({ ...confirmed, nonce: toBase64url(nonce), type: 'portico.step-up' }), 'buffer')
}
