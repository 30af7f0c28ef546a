import { hash } from 'node:crypto'
import type { Call } from '../gateway/call.ts'
import type { AssertionSigner, Clock, MaybePromise, Permission } from '../kernel/index.ts'
import { createLease } from '../platform/cache/index.ts'
import { claimsOf } from './assertion.ts'

const remembered = 10_000

const digests = new WeakMap<ReadonlySet<Permission>, string>()

/** A set of rights as a short text; the same set is asked about again and again. */
const digestOf = (rights: ReadonlySet<Permission> | undefined): string => {
  if (!rights || rights.size === 0) return ''
  const known = digests.get(rights)
  if (known !== undefined) return known
  const digest = hash('sha256', [...rights].join(' '), 'base64')
  digests.set(rights, digest)
  return digest
}

/** Everything that claimsOf tells of a call, as one text. */
const keyOf = ({ portal, caller, workspace }: Call): string =>
  `${portal} ${caller?.accountId} ${caller?.sessionId} ${caller?.apiKeyId} ${caller?.steppedUpAt} ` +
  `${workspace?.id} ${workspace?.isOwner} ${digestOf(caller?.permissions)} ${digestOf(workspace?.permissions)}`

/**
 * Signed assertions, kept while they are good for at least half of their time: they hold nothing of a single request,
 * so one signature serves all the calls of a caller in a workspace. One that was signed before the clock was set back is
 * of the future, which no upstream takes.
 */
export const cachedAssertions = (signer: AssertionSigner, audience: string, ttlMs: number, clock: Clock) => {
  const signed = createLease<string>(clock, { ms: ttlMs / 2, max: remembered })
  return (call: Call): MaybePromise<string> =>
    signed.read(keyOf(call), () => signer.sign({ audience, claims: claimsOf(call), ttlMs }))
}
