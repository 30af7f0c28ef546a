import type { Call } from '../gateway/call.ts'
import type { Caller, WorkspaceAccess } from '../kernel/index.ts'

/** What an upstream is told of the caller, signed. The request's own facts travel in headers (upstream-request.ts). */
export interface AssertionClaims {
  portal: string
  /** Absent for an anonymous call. */
  sub?: string
  sid?: string
  key?: string
  steppedUpAt?: number
  permissions?: string[]
  workspace?: { id: string; isOwner: boolean; permissions: string[] }
}

const callerClaims = (caller: Caller): Partial<AssertionClaims> => ({
  sub: caller.accountId,
  ...(caller.sessionId && { sid: caller.sessionId }),
  ...(caller.apiKeyId && { key: caller.apiKeyId }),
  ...(caller.steppedUpAt !== null && { steppedUpAt: caller.steppedUpAt }),
  permissions: [...caller.permissions],
})

const workspaceClaims = ({ id, isOwner, permissions }: WorkspaceAccess) => ({
  workspace: { id, isOwner, permissions: [...permissions] },
})

export const claimsOf = ({ portal, caller, workspace }: Call): AssertionClaims => ({
  portal: portal ?? 'CONSUMER',
  ...(caller && callerClaims(caller)),
  ...(workspace && workspaceClaims(workspace)),
})
