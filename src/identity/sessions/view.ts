import { type SessionId, toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { LoginHistoryLine } from '../login-history/store.ts'
import type { SessionConfiguration } from './limit-store.ts'
import type { ActiveSession } from './store.ts'

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

export const toLoginHistoryView = ({ loginAt, id, ...line }: LoginHistoryLine) => ({
  bizId: id,
  loginTime: toIso(loginAt),
  ...line,
})
