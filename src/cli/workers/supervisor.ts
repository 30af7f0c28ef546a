import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Configuration } from '../../config/index.ts'
import { closeListener, createWorkersServer } from '../../gateway/index.ts'
import { listen } from '../../main.ts'
import { Server as HttpServer } from '../../platform/runtime/index.ts'
import { createLogger } from '../../platform/telemetry/index.ts'
import { nextSignal } from '../signals.ts'
import { type EndedWorker, Slot } from './slot.ts'

/** After the time in which a worker ends. A worker whose event loop is blocked does not. */
const patienceMs = 2_000

interface Supervision {
  settings: Configuration
  count: number
  /** Called once, when the first worker serves and the operations listener is open. */
  onListening(ports: { port: number; operationsPort: number }): void
  /** Time in which a worker ends after a signal. */
  drainMs: number
}

/**
 * Runs the workers of this machine and their operations listener, and handles no request. Resolves with the exit code,
 * after a signal, or if a worker cannot start while no other one serves. Rejects if the port is in use.
 */
export async function supervise(supervision: Supervision): Promise<number> {
  const { log } = supervision.settings
  const logger = createLogger(log.level, undefined, log.format)
  const port = await findPort(supervision.settings)
  // Only this user can open it: the operations listener requires no authentication.
  const folder = await mkdtemp(join(tmpdir(), 'portico-'))
  const supervisor = new Supervisor(supervision, { folder, port }, logger)
  // A second signal ends this process immediately.
  process.once('exit', () => {
    supervisor.killAll()
    rmSync(folder, { recursive: true, force: true })
  })
  try {
    return await supervisor.run()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Workers share the port also with processes of the same user that somebody else has started. Resolves with the port. */
async function findPort({ listen: settings }: Configuration): Promise<number> {
  const server = new HttpServer()
  const port = await listen(server, settings, 'port')
  await closeListener(server, 0)
  return port
}

interface Places {
  /** Of the sockets of the workers. */
  folder: string
  port: number
}

class Supervisor {
  readonly #supervision: Supervision
  readonly #logger: Logger
  readonly #slots: readonly Slot[]
  readonly #port: number
  readonly #ended = Promise.withResolvers<number>()
  #operations: Promise<Server> | null = null
  #isEnding = false
  /** Of the workers that ended after a signal. */
  #codes: EndedWorker[] = []

  constructor(supervision: Supervision, { folder, port }: Places, logger: Logger) {
    this.#port = port
    this.#supervision = supervision
    this.#logger = logger
    const events = { onServing: this.#onServing.bind(this), onEnd: this.#onEnd.bind(this) }
    this.#slots = Array.from({ length: supervision.count }, (_, index) => {
      const number = index + 1
      return new Slot({ number, of: supervision.count, port, socket: join(folder, `${number}.sock`) }, events)
    })
  }

  async run(): Promise<number> {
    const reload = (): void => {
      for (const slot of this.#slots) slot.reload()
    }
    process.on('SIGHUP', reload)
    void nextSignal().then((signal) => this.#drain(signal))
    // The others follow: one worker migrates the schema, and one reports what prevents the start.
    this.#slots[0]?.start()
    const code = await this.#ended.promise
    process.off('SIGHUP', reload)
    const server = await this.#operations?.catch(() => null)
    if (server) await closeListener(server, 0)
    return code
  }

  killAll(): void {
    for (const slot of this.#slots) slot.kill('SIGKILL')
  }

  #onServing(slot: Slot): void {
    this.#logger.info({ worker: slot.worker.number, workerPid: slot.pid }, 'worker serves')
    if (this.#isEnding || this.#operations) return
    this.#operations = this.#open()
    this.#operations.catch((error: unknown) => {
      this.#logger.error({ err: error }, 'the operations listener cannot be opened')
      this.#giveUp(1)
    })
  }

  async #open(): Promise<Server> {
    const { settings, count, onListening } = this.#supervision
    const port = this.#port
    const server = createWorkersServer({
      settings,
      logger: this.#logger,
      isDraining: () => this.#isEnding,
      workers: () => this.#slots.flatMap(({ isServing, pid = 0, worker }) => (isServing ? [{ ...worker, pid }] : [])),
      absent: () => this.#slots.flatMap(({ isServing, worker }) => (isServing ? [] : [worker.number])),
    })
    const operationsPort = await listen(server, settings.listen, 'operationsPort')
    this.#logger.info({ workers: count, port, operationsPort }, 'workers start')
    onListening({ port, operationsPort })
    if (!this.#isEnding) for (const slot of this.#slots.slice(1)) slot.start()
    return server
  }

  #onEnd(slot: Slot, ended: EndedWorker): void {
    if (this.#isEnding) {
      this.#codes.push(ended)
      this.#finishIfAllEnded()
      return
    }
    const isAlone = this.#slots.every(({ isServing }) => !isServing)
    if (!ended.hasServed && isAlone) {
      this.#logger.error(ended, 'worker cannot start, and no other one serves')
      this.#giveUp(ended.code)
      return
    }
    const delayMs = slot.restartLater()
    this.#logger.error({ ...ended, delayMs }, 'worker ended; another one starts')
  }

  /** Workers that still start report the same. */
  #giveUp(code: number): void {
    this.#isEnding = true
    for (const slot of this.#slots) slot.cancelRestart()
    this.killAll()
    this.#ended.resolve(code)
  }

  #drain(signal: NodeJS.Signals): void {
    this.#logger.info({ signal }, 'draining all workers')
    this.#isEnding = true
    for (const slot of this.#slots) {
      slot.cancelRestart()
      slot.kill(signal)
    }
    setTimeout(() => this.killAll(), this.#supervision.drainMs + patienceMs).unref()
    this.#finishIfAllEnded()
  }

  #finishIfAllEnded(): void {
    if (this.#slots.some(({ isEnded }) => !isEnded)) return
    // A signal ends a worker that still starts with its number. That is the result only if no worker has served.
    const served = this.#codes.filter(({ hasServed }) => hasServed)
    const relevant = served.length > 0 ? served : this.#operations ? [] : this.#codes
    this.#logger.info('all workers stopped')
    this.#ended.resolve(Math.max(0, ...relevant.map(({ code }) => code)))
  }
}
