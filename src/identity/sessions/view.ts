import { type SessionId, toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { LoginHistoryEntry } from './history-store.ts'
import type { ActiveSession, SessionConfiguration } from './store.ts'

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
