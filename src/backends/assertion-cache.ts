import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Call } from '../gateway/call.ts'
import type { Permission } from '../kernel/index.ts'
import { type AssertionSigner, claimsOf } from './assertion.ts'

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
export const cachedAssertions = (signer: AssertionSigner, audience: string, ttlMs: number, now: () => number) => {
  const cache = new LRUCache<string, { token: Promise<string>; signedAt: number }>({ max: 10_000 })
  return (call: Call): Promise<string> => {
    const key = keyOf(call)
    const known = cache.get(key)
    const age = known ? now() - known.signedAt : -1
    if (known && age >= 0 && age < ttlMs / 2) return known.token
    const token = signer.sign({ audience, claims: { ...claimsOf(call) }, ttl: ttlMs })
    cache.set(key, { token, signedAt: now() })
    token.catch(() => cache.delete(key))
    return token
  }
}
