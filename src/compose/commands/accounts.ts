import type { Logger } from 'pino'
import type { DomainPorts } from '../../api/ports.ts'
import { packageVersion } from '../../config/env.ts'
import type { Configuration } from '../../config/index.ts'
import { inTransaction } from '../../database/index.ts'
import { replicaName, systemClock, systemDurations } from '../../platform/runtime/index.ts'
import { sessionEnd } from '../domains.ts'
import type { Loaded } from '../extensions.ts'
import { composeParts } from '../index.ts'
import type { Parts } from '../portal.ts'

/** The ports of commands on accounts, as the domain `operators` names them. */
interface AccountCommandPorts extends Pick<DomainPorts, 'transaction' | 'ids'> {
  endSessions: DomainPorts['sessions']['end']
  freezeOwnWorkspace: DomainPorts['workspaces']['freezeOwn']
  suspendCredentials: DomainPorts['hooks']['accountRecovered']
  onSessionsEnded: DomainPorts['sessions']['invalidate']
  /** Whether a gateway sends mails about the commands. */
  sendsMail: boolean
}

/**
 * Runs `work` with the ports of the operators' operations, so that a command of the program has their effects. Without
 * listeners and jobs. If Redis is down, gateways notice ended sessions by the lifetime of their caches, one second.
 */
export async function withAccountCommands<T>(
  loaded: Loaded,
  settings: Configuration,
  { logger, onWithoutRedis }: { logger: Logger; onWithoutRedis(error: unknown): void },
  work: (ports: AccountCommandPorts) => Promise<T>,
): Promise<T> {
  await using stack = new AsyncDisposableStack()
  const parts = await composeWithoutListeners(loaded, settings, logger, stack).catch((error: unknown) => {
    if (!settings.redisUrl) throw error
    onWithoutRedis(error)
    return composeWithoutListeners(loaded, { ...settings, redisUrl: null }, logger, stack)
  })
  const { infrastructure, identity, domains } = parts
  return await work({
    transaction: (run) => inTransaction(infrastructure.database, run),
    ids: infrastructure.ids,
    endSessions: sessionEnd(identity),
    freezeOwnWorkspace: async (tx, id, at) => domains.service('workspaces')?.freezeOwn(tx, id, at),
    suspendCredentials: domains.hooks.accountRecovered,
    onSessionsEnded: identity.invalidateSessions,
    sendsMail: domains.names.has('operators'),
  })
}

/** As a domain service, which can run next to gateways. */
async function composeWithoutListeners(
  loaded: Loaded,
  settings: Configuration,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<Parts> {
  await using building = new AsyncDisposableStack()
  const self = { version: packageVersion(), replica: replicaName() }
  const ports = { logger, clock: systemClock, durations: systemDurations, spans: null, whileAway: null, self }
  const parts = await composeParts(loaded, settings, 'domains', ports, building)
  const built = building.move()
  stack.defer(() => built.disposeAsync())
  return parts
}
