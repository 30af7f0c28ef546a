import { isRole } from '../compose.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { run } from '../main.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import type { Command } from './command.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'start the gateway, or the domains as a service behind one',
  help: [
    '  --role gateway|domains   what to serve (gateway)',
    '',
    'Configuration: PORTICO_CONFIG names a YAML file; PORT, OPS_PORT, HOST and others override it (README).',
    'SIGTERM and SIGINT drain: readiness drops, accepted requests finish, exit code 0.',
  ].join('\n'),
  options: { role: { type: 'string', default: 'gateway' } },
  run: async ({ root, values: { role } }) => {
    if (!isRole(role)) throw new Error(`--role is gateway or domains, not '${String(role)}'`)
    const settings = loadConfiguration(readVariables(), root)
    const logger = createLogger(settings.log.level)
    const running = await run(settings, role, logger)
    const signal = await new Promise<NodeJS.Signals>((resolve) => {
      process.once('SIGTERM', resolve).once('SIGINT', resolve)
    })
    logger.info({ signal }, 'draining')
    await running.stop()
    logger.info('stopped')
    return 0
  },
}
