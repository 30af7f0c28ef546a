import { z } from 'zod'
import type { Call } from '../gateway/call.ts'
import { type Caller, portals, type WorkspaceAccess } from '../kernel/index.ts'

const permissions = z.array(z.templateLiteral([z.string(), ':', z.string()]))

/** What an upstream is told of the caller, signed. The request's own facts travel in headers (upstream-request.ts). */
export const Claims = z.object({
  portal: z.enum(portals),
  /** Absent for an anonymous call. */
  sub: z.uuid().exactOptional(),
  sid: z.uuid().exactOptional(),
  key: z.uuid().exactOptional(),
  steppedUpAt: z.number().exactOptional(),
  permissions: permissions.default([]),
  workspace: z.object({ id: z.uuid(), isOwner: z.boolean(), permissions }).exactOptional(),
})

const callerClaims = (caller: Caller): Partial<z.input<typeof Claims>> => ({
  sub: caller.accountId,
  ...(caller.sessionId && { sid: caller.sessionId }),
  ...(caller.apiKeyId && { key: caller.apiKeyId }),
  ...(caller.steppedUpAt !== null && { steppedUpAt: caller.steppedUpAt }),
  permissions: [...caller.permissions],
})

const workspaceClaims = ({ id, isOwner, permissions }: WorkspaceAccess) => ({
  workspace: { id, isOwner, permissions: [...permissions] },
})

export const claimsOf = ({ portal, caller, workspace }: Call): z.input<typeof Claims> => ({
  portal: portal ?? 'CONSUMER',
  ...(caller && callerClaims(caller)),
  ...(workspace && workspaceClaims(workspace)),
})
