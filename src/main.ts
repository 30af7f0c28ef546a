import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { storeName } from './compose/store.ts'
import { compose, type Role } from './compose.ts'
import { type Configuration, settingName } from './config/index.ts'
import { closeListener } from './gateway/index.ts'
import { limitHeapGrowth, lowerWorkerPriority } from './platform/runtime/index.ts'

export interface Running {
  /** Where the portal listener and the operations listener really listen. */
  port: number
  operationsPort: number
  /** Operations that answer 501. */
  unserved: string[]
  /** Moves domains to where the changed configuration places them, without dropping a request. */
  replaceBackends(settings: Configuration): Promise<void>
  /** Comes, with why, when nothing can be served any more until the process is started again. */
  over: Promise<Error>
  /** Readiness drops, accepted requests finish, every part goes down. */
  stop(): Promise<void>
}

const listen = (server: Server, settings: Configuration['listen'], name: 'port' | 'operationsPort'): Promise<number> =>
  new Promise((resolve, reject) => {
    const { host, [name]: port } = settings
    const said = `${settingName(`listen.${name}`)} or ${settingName('listen.host')} cannot be listened on`
    const refuse = (cause: Error): void => reject(new Error(said, { cause }))
    server.once('error', refuse)
    server.listen(port, host, () => {
      server.off('error', refuse)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

/** The process: compose, listen; what is stopped is first drained. */
export const run = async (settings: Configuration, role: Role, logger: Logger): Promise<Running> => {
  const deployment = await compose(settings, role, logger)
  try {
    const running = {
      unserved: deployment.unserved,
      port: await listen(deployment.portal, settings.listen, 'port'),
      operationsPort: await listen(deployment.operations, settings.listen, 'operationsPort'),
    }
    lowerWorkerPriority()
    limitHeapGrowth()
    const { port, operationsPort } = running
    logger.info({ role, host: settings.listen.host, port, operationsPort, store: storeName(settings) }, 'listening')
    let stopping: Promise<void> | undefined
    const stop = async (): Promise<void> => {
      const { delayMs, timeoutMs } = settings.shutdown
      deployment.startDraining()
      // Until load balancers have noticed, requests keep coming, and are served.
      await pause(delayMs)
      const cut = await closeListener(deployment.portal, timeoutMs)
      if (cut > 0) logger.warn({ connections: cut }, 'cut off: not done in time')
      await closeListener(deployment.operations, 0)
      await deployment.close()
    }
    return {
      ...running,
      replaceBackends: deployment.replaceBackends,
      over: deployment.over,
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
