import { z } from 'zod'
import { addMs, invalid, type RequestContext } from '../../../kernel/index.ts'
import { StepUpPurpose } from '../../mfa/contract.ts'
import type { OwnSession } from '../../sessions/rules.ts'
import { assertOpaqueToken, mintToken, sessionNotFound } from '../../tokens/rules.ts'
import type { ProviderPorts } from '../ports.ts'
import type { ProviderDirectory } from '../protocol/directory.ts'
import { type AuthorizationReply, authorizationUrl, redeemCode, type VerifiedIdentity } from '../protocol/exchange.ts'
import { attemptContext } from '../sealed.ts'
import { insertProviderAttempt, type ProviderAttemptKind, type SpentAttempt, spendProviderAttempt } from './store.ts'

export interface StartedAttempt {
  authorizationUrl: string
  sessionId: string
  /** In seconds. */
  expiresIn: number
}

interface Start {
  kind: ProviderAttemptKind
  providerId: string
  /** One of the pages of the provider. */
  returnTo: string | undefined
  session: OwnSession | null
  /** Of a step-up. */
  stepUp?: { acrValues: readonly string[]; purpose: StepUpPurpose | undefined; purposeDigest: Uint8Array | null }
}

const Secret = z.object({ verifier: z.string(), nonce: z.string(), purpose: StepUpPurpose.optional() })

/**
 * The state names the page to which the gateway leads the browser. Throws AUTH.PROVIDER_UNAVAILABLE, or
 * VALIDATION.INVALID_PARAMETER for a page that is not listed.
 */
export async function startAttempt(
  ports: ProviderPorts,
  { kind, providerId, returnTo, session, stepUp }: Start,
  { portal, clientHash }: RequestContext,
): Promise<StartedAttempt> {
  const { clock, database, digest, randomness, secretBox, settings } = ports
  const directory = ports.providers.find(portal, providerId)
  const page = pageIndex(directory, returnTo)
  const sessionId = mintToken(randomness)
  const secret = { verifier: mintToken(randomness), nonce: mintToken(randomness), purpose: stepUp?.purpose }
  const state = `${mintToken(randomness)}.${page}`
  const url = await authorizationUrl(directory, { ...secret, state, acrValues: stepUp?.acrValues ?? null })
  const now = clock.now()
  const tokenDigest = digest('provider-attempt', sessionId)
  const sealed = secretBox.seal('provider-attempt', attemptContext(tokenDigest), Buffer.from(JSON.stringify(secret)))
  await insertProviderAttempt(
    database,
    {
      ...{ digest: tokenDigest, portal, kind, providerId, secret: sealed },
      session: session && { accountId: session.accountId, sessionId: session.sessionId },
      clientDigest: digest('client-hash', clientHash),
      stateDigest: digest('provider-state', state),
      purposeDigest: stepUp?.purposeDigest ?? null,
      expiresAt: addMs(now, settings.login.sessionTtlMs),
    },
    now,
  )
  return { authorizationUrl: url, sessionId, expiresIn: Math.floor(settings.login.sessionTtlMs / 1_000) }
}

export interface ProviderReply extends AuthorizationReply {
  sessionId: string
}

export interface FinishedAttempt {
  /** The command that a step-up confirms. */
  purpose: StepUpPurpose | undefined
  attempt: SpentAttempt
  directory: ProviderDirectory
  identity: VerifiedIdentity
}

/**
 * Spends the attempt before it redeems the code, so that a reply counts once, regardless of the result. Throws
 * AUTH.SESSION_NOT_FOUND for an attempt of another browser or with another state, AUTH.PROVIDER_REFUSED or
 * AUTH.PROVIDER_UNAVAILABLE.
 */
export async function finishAttempt(
  ports: ProviderPorts,
  kind: ProviderAttemptKind,
  { sessionId, ...reply }: ProviderReply,
  session: OwnSession | null,
  { portal, clientHash }: RequestContext,
): Promise<FinishedAttempt> {
  const { clock, database, digest, secretBox } = ports
  assertOpaqueToken(sessionId)
  const now = clock.now()
  const attempt = await spendProviderAttempt(
    database,
    {
      ...{ portal, kind, sessionId: session?.sessionId ?? null },
      digests: digest.candidates('provider-attempt', sessionId),
      clientDigests: digest.candidates('client-hash', clientHash),
      stateDigests: digest.candidates('provider-state', reply.state),
    },
    now,
  )
  if (!attempt) throw sessionNotFound('no pending attempt of this browser with this state')
  const directory = ports.providers.find(portal, attempt.providerId)
  const opened = secretBox.open('provider-attempt', attemptContext(attempt.digest), attempt.secret)
  const { verifier, nonce, purpose } = Secret.parse(JSON.parse(Buffer.from(opened).toString()))
  const expected = { nonce, verifier, startedAt: kind === 'STEP_UP' ? attempt.createdAt : null, now }
  return { attempt, directory, purpose, identity: await redeemCode(directory, reply, expected) }
}

/** Whether the provider authenticated the person with one of these values of `acr` or `amr`. */
export function isAuthenticatedBy({ claims }: VerifiedIdentity, accepted: readonly string[]): boolean {
  const amr = Array.isArray(claims.amr) ? claims.amr : []
  return [claims.acr, ...amr].some((value) => typeof value === 'string' && accepted.includes(value))
}

function pageIndex({ settings: { pages } }: ProviderDirectory, returnTo: string | undefined): number {
  const index = returnTo === undefined ? 0 : pages.indexOf(returnTo)
  if (index < 0) throw invalid('returnTo', 'not a page of the provider')
  return index
}
