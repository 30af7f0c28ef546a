import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Domain } from './api/domain.ts'
import { compose, type Role } from './compose/index.ts'
import { loadConfigured } from './compose/loading.ts'
import { storeName } from './compose/store.ts'
import { type Configuration, settingName } from './config/index.ts'
import { closeListener } from './gateway/index.ts'
import { tuneProcess } from './platform/runtime/index.ts'

/** A started server. */
export interface Running {
  /** The port on which the portal listener is open. It differs from the configured port if that is 0. */
  port: number
  operationsPort: number
  /** Ids of the operations that reply with 501. */
  unserved: string[]
  /** Moves the domains to the backends of the changed configuration. No request is dropped. */
  replaceBackends(settings: Configuration): Promise<void>
  /** Resolves with the reason once the embedded store has failed and the process must restart. */
  onFatal: Promise<Error>
  /** Drains the server: readiness fails, accepted requests finish, and then every part is closed. */
  stop(): Promise<void>
}

const listen = (server: Server, settings: Configuration['listen'], name: 'port' | 'operationsPort'): Promise<number> =>
  new Promise((resolve, reject) => {
    const { host, [name]: port } = settings
    const message = `cannot listen on ${settingName(`listen.${name}`)} and ${settingName('listen.host')}`
    const fail = (cause: Error): void => reject(new Error(message, { cause }))
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

/** Composes every part and listens. Rejects if a part cannot be opened or a port is taken. */
export const startServer = async (
  domains: readonly Domain[],
  settings: Configuration,
  role: Role,
  logger: Logger,
): Promise<Running> => {
  const deployment = await compose(await loadConfigured(domains, settings), settings, role, logger)
  try {
    const running = {
      unserved: deployment.unserved,
      port: await listen(deployment.portal, settings.listen, 'port'),
      operationsPort: await listen(deployment.operations, settings.listen, 'operationsPort'),
    }
    if (settings.runtime.tuning === 'on') tuneProcess()
    const { port, operationsPort } = running
    logger.info({ role, host: settings.listen.host, port, operationsPort, store: storeName(settings) }, 'listening')
    let stopping: Promise<void> | undefined
    const stop = async (): Promise<void> => {
      const { delayMs, timeoutMs } = settings.shutdown
      deployment.startDraining()
      // Requests keep arriving until load balancers notice that readiness fails.
      await pause(delayMs)
      const cut = await closeListener(deployment.portal, timeoutMs)
      if (cut > 0) logger.warn({ connections: cut }, 'connections closed before their requests had finished')
      await closeListener(deployment.operations, 0)
      await deployment.close()
    }
    return {
      ...running,
      replaceBackends: deployment.replaceBackends,
      onFatal: deployment.onFatal,
      stop: () => {
        stopping ??= stop()
        return stopping
      },
    }
  } catch (error) {
    await closeListener(deployment.portal, 0)
    await deployment.close()
    throw error
  }
}
