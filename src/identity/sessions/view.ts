import { type SessionId, toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { LoginHistoryEntry } from './history-store.ts'
import type { ActiveSession, SessionConfiguration } from './store.ts'

export const toSessionConfigurationView = (found: SessionConfiguration) => ({
  accountBizId: found.accountId,
  ssoEnabled: found.ssoEnabled,
  maxSessions: found.maxSessions,
  passwordChangedAt: toIsoOrNull(found.passwordChangedAt),
  lastLoginAt: toIsoOrNull(found.lastLoginAt),
  lastLoginIp: found.lastLoginIp,
})

export const toActiveSessionView = (
  { loginAt, lastActivityAt, ...session }: ActiveSession,
  currentSession: SessionId | null,
) => ({
  ...session,
  loginTime: toIso(loginAt),
  lastActivityTime: toIso(lastActivityAt),
  isCurrent: session.sessionId === currentSession,
})

export const toLoginHistoryView = ({ loginAt, id, ...entry }: LoginHistoryEntry) => ({
  bizId: id,
  loginTime: toIso(loginAt),
  ...entry,
})
