import {
  addMs,
  type Caller,
  type Instant,
  isSteppedUp,
  type SessionId,
  toIso,
  toIsoOrNull,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { LoginHistoryEntry } from './history-store.ts'
import type { ActiveSession, OpenSession, SessionConfiguration } from './store.ts'

interface Viewer {
  caller: Caller
  workspace: WorkspaceAccess | null
  receivedAt: Instant
}

export function toOwnSessionView(
  { accountId, portal, idleExpiresAt, expiresAt }: OpenSession,
  { caller, workspace, receivedAt }: Viewer,
  stepUpMs: number,
) {
  const steppedUpAt = isSteppedUp(caller, receivedAt, stepUpMs) ? caller.steppedUpAt : null
  return {
    accountBizId: accountId,
    portal,
    idleExpiresAt: toIso(idleExpiresAt),
    expiresAt: toIso(expiresAt),
    steppedUpUntil: steppedUpAt === null ? null : toIso(addMs(steppedUpAt, stepUpMs)),
    workspaceBizId: workspace?.id ?? null,
    permissionCodes: [...(workspace ?? caller).permissions].toSorted(),
  }
}

export function toSessionConfigurationView(found: SessionConfiguration) {
  return {
    accountBizId: found.accountId,
    ssoEnabled: found.ssoEnabled,
    maxSessions: found.maxSessions,
    passwordChangedAt: toIsoOrNull(found.passwordChangedAt),
    lastLoginAt: toIsoOrNull(found.lastLoginAt),
    lastLoginIp: found.lastLoginIp,
  }
}

export function toActiveSessionView(
  { loginAt, lastActivityAt, ...session }: ActiveSession,
  currentSession: SessionId | null,
) {
  return {
    ...session,
    loginTime: toIso(loginAt),
    lastActivityTime: toIso(lastActivityAt),
    isCurrent: session.sessionId === currentSession,
  }
}

export function toLoginHistoryView({ loginAt, id, ...entry }: LoginHistoryEntry) {
  return {
    bizId: id,
    loginTime: toIso(loginAt),
    ...entry,
  }
}
