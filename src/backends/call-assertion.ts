import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Call } from '../gateway/pipeline/call.ts'
import {
  type AssertionSigner,
  type Caller,
  type Clock,
  type MaybePromise,
  type Permission,
  portals,
  type WorkspaceAccess,
} from '../kernel/index.ts'
import { createTtlCache } from '../platform/cache/index.ts'

const permissions = z.array(z.templateLiteral([z.string(), ':', z.string()]))

/** The claims of a call assertion: the caller as an upstream sees it. Facts of the request are sent as headers. */
export const AssertionClaims = z.object({
  portal: z.enum(portals),
  /** Absent for an anonymous call. */
  sub: z.uuid().exactOptional(),
  sid: z.uuid().exactOptional(),
  key: z.uuid().exactOptional(),
  steppedUpAt: z.number().exactOptional(),
  permissions: permissions.default([]),
  workspace: z.object({ id: z.uuid(), isOwner: z.boolean(), permissions }).exactOptional(),
})

type Claims = z.input<typeof AssertionClaims>

const callerClaims = (caller: Caller): Partial<Claims> => ({
  sub: caller.accountId,
  ...(caller.sessionId && { sid: caller.sessionId }),
  ...(caller.apiKeyId && { key: caller.apiKeyId }),
  ...(caller.steppedUpAt !== null && { steppedUpAt: caller.steppedUpAt }),
  permissions: [...caller.permissions],
})

const workspaceClaims = ({ id, isOwner, permissions }: WorkspaceAccess) => ({
  workspace: { id, isOwner, permissions: [...permissions] },
})

/** Returns the claims that describe the caller of a call. */
export const toClaims = ({ portal, caller, workspace }: Call): Claims => ({
  portal: portal ?? 'CONSUMER',
  ...(caller && callerClaims(caller)),
  ...(workspace && workspaceClaims(workspace)),
})

const maxAssertions = 10_000

const digests = new WeakMap<ReadonlySet<Permission>, string>()

/** Returns a digest of a set of rights. Sets are shared between calls, so digests are cached. */
const digestOf = (rights: ReadonlySet<Permission> | undefined): string => {
  if (!rights || rights.size === 0) return ''
  const cached = digests.get(rights)
  if (cached !== undefined) return cached
  const digest = hash('sha256', [...rights].join(' '), 'base64')
  digests.set(rights, digest)
  return digest
}

/** The key contains every value that `toClaims` uses. */
const keyOf = ({ portal, caller, workspace }: Call): string =>
  `${portal} ${caller?.accountId} ${caller?.sessionId} ${caller?.apiKeyId} ${caller?.steppedUpAt} ` +
  `${workspace?.id} ${workspace?.isOwner} ${digestOf(caller?.permissions)} ${digestOf(workspace?.permissions)}`

/**
 * Returns a function that signs call assertions and caches each for half its lifetime. An assertion contains nothing of
 * a single request, so one signature serves all calls of a caller in a workspace. If the clock was set back, older
 * entries are dropped, because upstreams reject assertions from the future.
 */
export function createAssertionCache(
  signer: AssertionSigner,
  audience: string,
  ttlMs: number,
  clock: Clock,
): (call: Call) => MaybePromise<string> {
  const signed = createTtlCache<string>(clock, { ms: ttlMs / 2, max: maxAssertions })
  return (call) => signed.read(keyOf(call), () => signer.sign({ audience, claims: toClaims(call), ttlMs: ttlMs }))
}
