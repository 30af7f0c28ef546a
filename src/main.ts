import type { Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { platform } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Domain } from './api/domain.ts'
import { loadConfigured } from './compose/extensions.ts'
import { compose, type Deployment, type Role } from './compose/index.ts'
import type { JobPace } from './compose/jobs.ts'
import { placesOf } from './compose/store.ts'
import { type Configuration, settingName } from './config/index.ts'
import { closeListener } from './gateway/index.ts'
import type { Clock, Durations } from './kernel/index.ts'
import { shareResolver, systemClock, systemDurations, tuneProcess } from './platform/runtime/index.ts'
import type { StoreWait } from './platform/store-wait.ts'

export interface Running extends Pick<Deployment, 'database' | 'runJob' | 'reportRejection'> {
  /** The actual port if the configured one is 0. */
  port: number
  /** 0 if a worker listens on a socket. */
  operationsPort: number
  /** Ids of operations that respond with 501. */
  unserved: string[]
  /** Replaces backends and limits without dropping a request or a count. If it rejects, nothing has changed. */
  reload(settings: Configuration): Promise<void>
  /** Resolves with the reason if the embedded store fails and the process must restart. */
  onFatal: Promise<Error>
  /** Fails readiness, finishes accepted requests, and then closes all parts. */
  stop(): Promise<void>
}

/** Workers of one machine share a port. Each has a socket instead of an operations port, for its supervisor. */
export interface WorkerListeners {
  port: number
  socket: string
}

/** Parts that tests replace. */
export interface StartOptions {
  clock?: Clock
  durations?: Durations
  pace?: JobPace
  worker?: WorkerListeners | null
  /** Default: the start fails if a store is away. */
  whileAway?: StoreWait['whileAway']
}

/** Rejects if a part cannot be opened or a port is in use. */
export async function startServer(
  domains: readonly Domain[],
  settings: Configuration,
  role: Role,
  logger: Logger,
  { clock = systemClock, durations = systemDurations, pace = {}, whileAway, worker = null }: StartOptions = {},
): Promise<Running> {
  shareResolver()
  const deployment = await compose(await loadConfigured(domains, settings), settings, role, logger, {
    clock,
    durations,
    pace,
    whileAway: whileAway ?? null,
    isWorker: worker !== null,
  })
  try {
    const running = {
      unserved: deployment.unserved,
      port: await listen(deployment.portal, settings.listen, 'port', worker),
      operationsPort: await listen(deployment.operations, settings.listen, 'operationsPort', worker),
    }
    if (settings.runtime.tuning === 'on') tuneProcess()
    const { port, operationsPort } = running
    const ports = worker ? { port } : { port, operationsPort }
    logger.info({ role, host: settings.listen.host, ...ports, ...placesOf(settings) }, 'listening')
    let stopping: Promise<void> | undefined
    const stop = async (): Promise<void> => {
      const { delayMs, timeoutMs } = settings.shutdown
      deployment.startDraining()
      // Load balancers take time to notice the failed readiness.
      await pause(delayMs)
      deployment.endStreams()
      const cut = await closeListener(deployment.portal, timeoutMs)
      if (cut > 0) logger.warn({ connections: cut }, 'connections closed before their requests had finished')
      await closeListener(deployment.operations, 0)
      await deployment.close()
    }
    return {
      ...running,
      database: deployment.database,
      runJob: deployment.runJob,
      reportRejection: deployment.reportRejection,
      reload: deployment.reload,
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

/** Resolves with the port, or with 0 for a socket. */
export function listen(
  server: Server,
  settings: Configuration['listen'],
  name: 'port' | 'operationsPort',
  worker: WorkerListeners | null = null,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const hostSetting = name === 'operationsPort' && settings.operationsHost !== null ? 'operationsHost' : 'host'
    const host = settings[hostSetting] ?? settings.host
    const message = `cannot listen on ${settingName(`listen.${name}`)} and ${settingName(`listen.${hostSetting}`)}`
    const fail = (cause: Error): void => reject(new Error(message, { cause }))
    server.once('error', fail)
    server.listen(worker ? optionsOf(worker, host, name) : { port: settings[name], host }, () => {
      server.off('error', fail)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

/** On Linux, the kernel spreads connections evenly over workers. Elsewhere, the supervisor accepts them (`node:cluster`). */
function optionsOf({ port, socket }: WorkerListeners, host: string, name: 'port' | 'operationsPort'): ListenOptions {
  return name === 'port' ? { port, host, reusePort: platform === 'linux' } : { path: socket, exclusive: true }
}
