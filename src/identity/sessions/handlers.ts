import { createHandlerTable, type HandlerTable, mapPage, parseInterval } from '../../kernel/index.ts'
import type { IdentitySettings } from '../settings.ts'
import * as contract from './contract.ts'
import { listLoginHistory } from './history-store.ts'
import {
  configureSessions,
  getOpenSession,
  getSessionConfiguration,
  type SessionPorts,
  terminateOtherSessions,
  terminateSession,
} from './service.ts'
import { listActiveSessions } from './store.ts'
import { toActiveSessionView, toLoginHistoryView, toOwnSessionView, toSessionConfigurationView } from './view.ts'

export function sessionHandlers(ports: SessionPorts & { settings: IdentitySettings }): HandlerTable {
  const { stepUpMs } = ports.settings.mfa
  return createHandlerTable(contract, {
    readOwnSession: async (request) => toOwnSessionView(await getOpenSession(ports, request.caller), request, stepUpMs),
    listSessions: async ({ caller: { portal, accountId, sessionId } }) => {
      const sessions = await listActiveSessions(ports.database, portal, accountId, ports.clock.now())
      return sessions.map((session) => toActiveSessionView(session, sessionId))
    },
    readSessionConfig: async ({ caller }) => toSessionConfigurationView(await getSessionConfiguration(ports, caller)),
    readOwnSessionConfig: async ({ caller }) =>
      toSessionConfigurationView(await getSessionConfiguration(ports, caller)),
    configureSessions: async (request) =>
      toSessionConfigurationView(await configureSessions(ports, request.body.maxConcurrentSessions, request)),
    listLoginHistory: async ({ caller: { portal, accountId }, query }) => {
      const { startTime, endTime, sortOrder, ...page } = query
      const { from, to: until } = parseInterval({ startTime, endTime })
      const history = await listLoginHistory(ports.database, { portal, accountId, sortOrder, from, until, ...page })
      return mapPage(history, toLoginHistoryView)
    },
    terminateSession: async (request) => {
      await terminateSession(ports, request.body.sessionId, request)
      return null
    },
    terminateAllSessions: async (request) => ({
      success: true,
      terminatedSessions: await terminateOtherSessions(ports, request),
      currentSessionRetained: true,
    }),
  })
}
