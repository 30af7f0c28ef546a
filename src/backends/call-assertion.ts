import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Call, portalOfCall } from '../gateway/pipeline/call.ts'
import type { AssertionSigner, Caller, Clock, MaybePromise, Permission, WorkspaceAccess } from '../kernel/index.ts'
import { createTtlCache } from '../platform/cache/index.ts'

const permissions = z.array(z.templateLiteral([z.string(), ':', z.string()]))

/** The claims describe only the caller. Headers carry the details of the request. */
export const AssertionClaims = z.object({
  portal: z.string().regex(/^[A-Z][A-Z0-9_]{1,31}$/),
  /** The account id. Absent for an anonymous call. */
  sub: z.uuid().exactOptional(),
  sid: z.uuid().exactOptional(),
  key: z.uuid().exactOptional(),
  steppedUpAt: z.number().exactOptional(),
  permissions: permissions.default([]),
  workspace: z.object({ id: z.uuid(), isOwner: z.boolean(), permissions }).exactOptional(),
})

type Claims = z.input<typeof AssertionClaims>

/** The parts of a call that its assertion contains. */
export type ForwardedCaller = Pick<Call, 'portal' | 'caller' | 'workspace'>

export function toClaims(call: ForwardedCaller): Claims {
  const { caller, workspace } = call
  return {
    portal: portalOfCall(call),
    ...(caller && callerClaims(caller)),
    ...(workspace && workspaceClaims(workspace)),
  }
}

const maxAssertions = 10_000

const digests = new WeakMap<ReadonlySet<Permission>, string>()

/**
 * Caches each assertion for half its lifetime: it contains nothing about a single request. If the clock was set back,
 * older entries are dropped, because upstreams reject assertions from the future.
 */
export function createAssertionCache(
  signer: AssertionSigner,
  audience: string,
  ttlMs: number,
  clock: Clock,
): (call: ForwardedCaller) => MaybePromise<string> {
  const signed = createTtlCache<string>(clock, { ms: ttlMs / 2, max: maxAssertions })
  return (call) => signed.read(keyOf(call), () => signer.sign({ audience, claims: toClaims(call), ttlMs: ttlMs }))
}

function callerClaims(caller: Caller): Partial<Claims> {
  return {
    sub: caller.accountId,
    ...(caller.sessionId && { sid: caller.sessionId }),
    ...(caller.apiKeyId && { key: caller.apiKeyId }),
    ...(caller.steppedUpAt !== null && { steppedUpAt: caller.steppedUpAt }),
    permissions: [...caller.permissions],
  }
}

function workspaceClaims({ id, isOwner, permissions }: WorkspaceAccess) {
  return {
    workspace: { id, isOwner, permissions: [...permissions] },
  }
}

/** The key contains every value that `toClaims` uses. */
function keyOf({ portal, caller, workspace }: ForwardedCaller): string {
  return (
    `${portal} ${caller?.accountId} ${caller?.sessionId} ${caller?.apiKeyId} ${caller?.steppedUpAt} ` +
    `${workspace?.id} ${workspace?.isOwner} ${digestOf(caller?.permissions)} ${digestOf(workspace?.permissions)}`
  )
}

/** Calls share these sets, so their digests are cached. */
function digestOf(rights: ReadonlySet<Permission> | undefined): string {
  if (!rights || rights.size === 0) return ''
  const cached = digests.get(rights)
  if (cached !== undefined) return cached
  const digest = hash('sha256', [...rights].join(' '), 'base64')
  digests.set(rights, digest)
  return digest
}
