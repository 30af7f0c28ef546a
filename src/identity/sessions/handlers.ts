import {
  createHandlerTable,
  type HandlerTable,
  mapPage,
  parseInterval,
  toIso,
  toIsoOrNull,
} from '../../kernel/index.ts'
import { loginHistory } from '../login/history-store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { SessionConfiguration } from './config-store.ts'
import { sessionBounder, sessionConfiguration } from './configure.ts'
import * as contract from './contract.ts'
import { activeSessions } from './list-store.ts'
import type { Liveness } from './liveness.ts'
import { otherSessionsTerminator, sessionTerminator } from './terminate.ts'

const render = (found: SessionConfiguration) => ({
  accountBizId: found.accountId,
  ssoEnabled: found.ssoEnabled,
  maxSessions: found.maxSessions,
  passwordChangedAt: toIsoOrNull(found.passwordChangedAt),
  lastLoginAt: toIsoOrNull(found.lastLoginAt),
  lastLoginIp: found.lastLoginIp,
})

/** An account's own sessions and logins: interface.md 2.8 to 2.10. */
export const sessionHandlers = (ports: IdentityPorts, liveness: Liveness): HandlerTable => {
  const { database, clock } = ports
  const read = sessionConfiguration(database)
  const bound = sessionBounder(ports, liveness)
  const terminate = sessionTerminator(ports, liveness)
  const terminateOthers = otherSessionsTerminator(ports, liveness)
  return createHandlerTable(contract, {
    listSessions: async ({ caller: { portal, accountId, sessionId } }) => {
      const sessions = await activeSessions(database, portal, accountId, clock.now())
      return sessions.map(({ loginAt, lastActivityAt, ...session }) => ({
        ...session,
        loginTime: toIso(loginAt),
        lastActivityTime: toIso(lastActivityAt),
        isCurrent: session.sessionId === sessionId,
      }))
    },
    readSessionConfig: async (request) => render(await read(request)),
    readOwnSessionConfig: async (request) => render(await read(request)),
    configureSessions: async (request) => render(await bound(request, request.body.maxConcurrentSessions)),
    listLoginHistory: async ({ caller: { portal, accountId }, query }) => {
      const { startTime, endTime, sortOrder, ...page } = query
      const { from, to: until } = parseInterval({ startTime, endTime })
      const history = await loginHistory(database, { portal, accountId, sortOrder, from, until, ...page })
      return mapPage(history, ({ loginAt, id, ...entry }) => ({ bizId: id, loginTime: toIso(loginAt), ...entry }))
    },
    terminateSession: async (request) => {
      await terminate(request, request.body.sessionId)
      return null
    },
    terminateAllSessions: async (request) => ({
      success: true,
      terminatedSessions: await terminateOthers(request),
      currentSessionRetained: true,
    }),
  })
}
