import { exit } from 'node:process'
import type { Logger } from 'pino'
import { isRole } from '../compose/index.ts'
import { readVariables, type Variables } from '../config/env.ts'
import { ConfigurationError, loadConfiguration } from '../config/index.ts'
import { messageOf } from '../kernel/index.ts'
import { type Running, startServer } from '../main.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import { type Command, UsageError } from './command.ts'
import { nextSignal, watchConfiguration } from './signals.ts'

/** Reloads `backends` from the configuration. An invalid configuration is refused as a whole, and the old one stays. */
const reloadBackends = async (variables: Variables, running: Running, logger: Logger): Promise<void> => {
  try {
    await running.replaceBackends(loadConfiguration(variables))
    logger.info('backends reloaded')
  } catch (error) {
    const details = error instanceof ConfigurationError ? { faults: error.errors } : { err: error }
    logger.error(details, 'invalid configuration; the previous one stays in effect')
  }
}

/** Time to close the parts after the listeners. */
const graceMs = 5_000

/**
 * Reports every uncaught exception and resolves with the first one: the process state is unknown after it. Node's default
 * would drop every request and print the error with its properties, which can hold a command and its password.
 */
const onUncaughtException = (report: (error: Error) => void): Promise<Error> =>
  new Promise((resolve) => {
    process.on('uncaughtException', (thrown: unknown) => {
      const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown))
      report(error)
      resolve(error)
    })
  })

export const serve: Command = {
  name: 'serve',
  summary: 'start the gateway, or the domains as a service behind a gateway',
  help: [
    '  --role gateway|domains   part to serve (default: gateway)',
    '',
    'Configuration: PORTICO_CONFIG names a YAML file; PORT, OPS_PORT, HOST and others override it (docs/reference/configuration.md).',
    'SIGHUP, or a change of that file, reloads `backends`. Other changes need a restart.',
    'SIGTERM and SIGINT shut down gracefully: readiness fails, the listener closes after shutdown.delayMs, and accepted',
    'requests have shutdown.timeoutMs to finish. Exit code 0. A second signal, or one during the start, ends the process',
    'immediately (143 or 130). An uncaught error or a failure of the embedded store ends it with exit code 1.',
  ].join('\n'),
  options: { role: { type: 'string', default: 'gateway' } },
  run: async ({ role }, domains) => {
    if (!isRole(role)) throw new UsageError(`--role must be gateway or domains, not '${String(role)}'`)
    // Without a listener SIGHUP would end the process while it starts or drains.
    let isReloadPending = false
    process.on('SIGHUP', () => {
      isReloadPending = true
    })
    const variables = readVariables()
    const settings = loadConfiguration(variables)
    const logger = createLogger(settings.log.level)
    let code = 0
    const failed = onUncaughtException((error) => {
      code = 1
      logger.error({ err: error }, 'unhandled rejection')
    })
    const running = await Promise.race([
      startServer(domains, settings, role, logger),
      failed.then((error) => Promise.reject(error)),
    ])
    const reload = () => reloadBackends(variables, running, logger)
    const reloads = watchConfiguration(variables.PORTICO_CONFIG, reload, (error) =>
      logger.warn({ err: error }, 'configuration file cannot be watched; only SIGHUP reloads `backends`'),
    )
    if (isReloadPending) await reload()
    const outcome = await Promise.race([nextSignal(), running.onFatal, failed])
    if (outcome instanceof Error) {
      code = 1
      logger.error({ err: outcome }, 'fatal error; the process exits and must be restarted')
    } else logger.info({ signal: outcome }, 'draining')
    reloads.close()
    const { delayMs, timeoutMs } = settings.shutdown
    // End the process even if a part hangs, such as a database that does not respond.
    const exitAfterGrace = (): void => {
      logger.error('shutdown timed out; the process exits')
      exit(code)
    }
    setTimeout(exitAfterGrace, delayMs + timeoutMs + graceMs).unref()
    await running.stop()
    logger.info('stopped')
    return code
  },
}
