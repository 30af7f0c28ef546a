import { exit } from 'node:process'
import type { Logger } from 'pino'
import { isRole, type Role } from '../compose/index.ts'
import { placesOf } from '../compose/store.ts'
import {
  type Configuration,
  ConfigurationError,
  hasAppCode,
  loadConfiguration,
  portalNames,
  settingsOfPortal,
  settingsThatNeedRestart,
} from '../config/index.ts'
import { appFolderOf } from '../gateway/index.ts'
import { messageOf, type Portal } from '../kernel/index.ts'
import { type Running, startServer } from '../main.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import { developmentAccounts, developmentPassword } from '../seed/development.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'
import { nextSignal, StartInterrupted, untilSignal, watchConfiguration } from './signals.ts'
import { workerCount } from './workers/count.ts'
import { shareOf } from './workers/share.ts'
import { notifySupervisor, ownWorker } from './workers/worker.ts'

/** Maximum time to close after the listeners have closed. */
const graceMs = 5_000

export interface Serving {
  running: Running
  /** Drains and closes, like a signal. */
  close(): void
  /** Resolves with the exit code. Never rejects. */
  finished: Promise<number>
}

/** Reloads backends and limits on SIGHUP and on changes of the configuration file. Rejects if the server cannot start. */
export async function startServing(
  { domains, variables, stderr }: Pick<CommandContext, 'domains' | 'variables' | 'stderr'>,
  role: Role,
): Promise<Serving> {
  // Without a listener, SIGHUP would end a process that starts or drains.
  let isReloadPending = false
  const postponeReload = (): void => {
    isReloadPending = true
  }
  process.on('SIGHUP', postponeReload)
  const worker = ownWorker()
  notifySupervisor({ kind: 'loading' })
  const load = () => shareOf(loadConfiguration(variables, domains), worker?.of ?? 1)
  const settings = load()
  const logger = createLogger(settings.log.level, undefined, settings.log.format, worker?.number)
  let isFailed = false
  const uncaught = onUncaughtException((error) => {
    isFailed = true
    logger.error({ err: error }, 'unhandled rejection')
  })
  const failed = uncaught.first
  const running = await Promise.race([
    startServer(domains, settings, role, logger, { whileAway: untilSignal, worker }),
    failed.then((error) => Promise.reject(error)),
  ]).catch((error: unknown) => {
    // The caller reports the error.
    uncaught.remove()
    process.off('SIGHUP', postponeReload)
    if (!(error instanceof StartInterrupted)) throw error
    logger.info({ signal: error.message }, 'stopped before the stores were back')
    // The last attempt to connect may have no time limit.
    exit(0)
  })
  process.on('unhandledRejection', running.reportRejection)
  if (!worker) writeBanner(settings, role, running, stderr)
  const reload = () => reloadSettings(load, running, settings, logger)
  const reloads = watchConfiguration(variables.PORTICO_CONFIG, reload, (error) =>
    logger.warn({ err: error }, 'configuration file cannot be watched; only SIGHUP reloads `backends` and `limits`'),
  )
  if (isReloadPending) await reload()
  notifySupervisor({ kind: 'serving' })
  const closing = Promise.withResolvers<'close'>()
  const end = Promise.race([nextSignal(), running.onFatal, failed, closing.promise])
  return {
    running,
    close: () => closing.resolve('close'),
    finished: drainAtEnd({ running, settings, logger }, end, () => isFailed, reloads.close),
  }
}

export const serve: Command = {
  name: 'serve',
  isServer: true,
  summary: 'start the gateway, or the domains as a service behind a gateway',
  help: [
    '  --role gateway|domains   part to serve (default: gateway)',
    '  --workers auto|N         processes that share the port (default: 1). More than one needs PostgreSQL, and a gateway also',
    '                           Redis. auto: one per core with them, at most one per 512 MB of memory, and otherwise one',
    '',
    'Configuration: PORTICO_CONFIG names a YAML file; PORT, OPS_PORT, HOST and others override it (docs/reference/configuration.md).',
    'SIGHUP, or a change of that file, reloads `backends` and `limits`. The log names changed settings that need a restart.',
    'If PostgreSQL or Redis is away, waits for it. A wrong password, name or certificate ends the process with exit code 1.',
    'SIGTERM and SIGINT shut down gracefully: readiness fails, the listener closes after shutdown.delayMs, and accepted',
    'requests have shutdown.timeoutMs to finish. Exit code 0, also while it waits. A second signal, or another one during',
    'the start, ends the process immediately (143 or 130). An uncaught error or a failure of the embedded store ends it with exit code 1.',
  ].join('\n'),
  options: { role: { type: 'string', default: 'gateway' }, workers: { type: 'string', default: '1' } },
  run: async ({ role, workers }, context) => {
    if (!isRole(role)) throw new UsageError(`--role must be gateway or domains, not '${String(role)}'`)
    if (workers !== '1' && !ownWorker()) {
      const settings = loadConfiguration(context.variables, context.domains)
      const count = workerCount(workers, settings, role)
      if (count > 1) return superviseWorkers(settings, role, count, context)
    }
    const { finished } = await startServing(context, role)
    const code = await finished
    // The connection to the supervisor would keep a worker alive.
    process.channel?.unref()
    return code
  },
}

async function superviseWorkers(
  settings: Configuration,
  role: Role,
  count: number,
  { stderr }: Pick<CommandContext, 'stderr'>,
): Promise<number> {
  const { supervise } = await import('./workers/supervisor.ts')
  const { delayMs, timeoutMs } = settings.shutdown
  return supervise({
    settings,
    count,
    drainMs: delayMs + timeoutMs + graceMs,
    onListening: (ports) => writeBanner(settings, role, ports, stderr),
  })
}

/**
 * The state of the process is unknown after the `first` exception. By default, Node would drop every request and print
 * the error's properties, which may contain a command and its password.
 */
function onUncaughtException(report: (error: Error) => void): { first: Promise<Error>; remove(): void } {
  const { promise: first, resolve } = Promise.withResolvers<Error>()
  const listener = (thrown: unknown): void => {
    const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown))
    report(error)
    resolve(error)
  }
  process.on('uncaughtException', listener)
  return { first, remove: () => process.off('uncaughtException', listener) }
}

type Ports = Pick<Running, 'port' | 'operationsPort'>

/** For people, on standard error: standard output holds only the log. */
function writeBanner(settings: Configuration, role: Role, ports: Ports, stderr: CommandContext['stderr']): void {
  if (role === 'gateway' && settings.profile === 'development') stderr.write(bannerOf(settings, ports))
}

function bannerOf(settings: Configuration, { port, operationsPort }: Ports): string {
  // The session cookie and passkeys belong to the name in `publicUrl`.
  const isPublic = new URL(settings.publicUrl).port === String(port)
  const url = isPublic ? settings.publicUrl.replace(/\/$/, '') : `http://${settings.listen.host}:${port}`
  const operations = `http://${settings.listen.operationsHost ?? settings.listen.host}:${operationsPort}`
  const lines = [
    ...portalNames(settings.portals).flatMap((portal) => appLine(settings, portal, url)),
    ['Portico', url],
    ...(settings.reference.enabled ? [['Docs', `${url}/docs`]] : []),
    ['Mail', settings.smtpUrl ? placesOf(settings).mail : `${operations}/mail`],
    ['Accounts', developmentAccounts.map(({ email }) => email).join(', ')],
    ['Password', developmentPassword],
    ['Store', placesOf(settings).store],
  ]
  return `\n${lines.map(([name = '', value = '']) => `  ${name.padEnd(10)}${value}`).join('\n')}\n\n`
}

const appLabels: Readonly<Record<Portal, string>> = { CONSUMER: 'Portal', SYSTEM: 'Console' }

/** The application of an additional portal is served under its hosts only. */
function appLine({ portals }: Configuration, portal: Portal, url: string): string[][] {
  const own = settingsOfPortal(portals, portal)
  if (!hasAppCode(own)) return []
  const page = new URL(`${url}/${appFolderOf(portal)}`)
  const [host] = own.hosts
  if (own.prefix !== undefined && host !== undefined) page.hostname = host
  return [[appLabels[portal] ?? `${portal} `, page.href]]
}

/** Reloads `backends` and `limits` from the configuration. If the configuration is invalid, nothing changes. */
async function reloadSettings(
  load: () => Configuration,
  running: Running,
  started: Configuration,
  logger: Logger,
): Promise<void> {
  try {
    const changed = load()
    await running.reload(changed)
    logger.info('backends and limits reloaded')
    const names = settingsThatNeedRestart(started, changed)
    if (names.length > 0) logger.warn({ settings: names }, `changed settings need a restart: ${names.join(', ')}`)
  } catch (error) {
    const details = error instanceof ConfigurationError ? { faults: error.errors } : { err: error }
    logger.error(details, 'invalid configuration; the previous one stays in effect')
  }
}

/** Drains after a signal, `close` or a fatal error. Resolves with the exit code. */
async function drainAtEnd(
  { running, settings, logger }: { running: Running; settings: Configuration; logger: Logger },
  end: Promise<NodeJS.Signals | 'close' | Error>,
  isFailed: () => boolean,
  beforeDrain: () => void,
): Promise<number> {
  const outcome = await end
  // The stack of the cause shows whether it is a full disk or a fault.
  if (outcome instanceof Error)
    logger.error({ err: outcome.cause ?? outcome }, 'fatal error; the process exits and must be restarted')
  else logger.info(outcome === 'close' ? {} : { signal: outcome }, 'draining')
  const codeOf = (): number => (outcome instanceof Error || isFailed() ? 1 : 0)
  beforeDrain()
  const { delayMs, timeoutMs } = settings.shutdown
  // A part may not close, for example if the database does not respond.
  const exitAfterGrace = (): void => {
    logger.error('shutdown timed out; the process exits')
    exit(codeOf())
  }
  setTimeout(exitAfterGrace, delayMs + timeoutMs + graceMs).unref()
  await running.stop()
  logger.info('stopped')
  return codeOf()
}
