import { argv, exit, stderr, stdout } from 'node:process'
import { parseArgs } from 'node:util'
import { UsageError } from './cli/command.ts'
import { commands } from './cli/index.ts'
import { exitOnSignals } from './cli/signals.ts'
import { packageVersion } from './config/env.ts'
import { bankingDomains } from './domains/index.ts'
import { errorCode, messageOf } from './kernel/index.ts'

const usage = async (): Promise<string> =>
  [
    'portico <command> [options]',
    '',
    ...(await Promise.all(Object.values(commands).map((load) => load()))).map(
      ({ name, summary }) => `  ${name.padEnd(18)} ${summary}`,
    ),
    '',
  ].join('\n')

/** Own properties only: `toString` is not a command. */
const commandOf = (name: string) => (Object.hasOwn(commands, name) ? commands[name] : undefined)

/** Returns the exit code: 0 success, 1 failure, 2 invalid arguments or configuration. */
const main = async (args: string[]): Promise<number> => {
  if (args[0] === '--version' || args[0] === '-v') {
    stdout.write(`${packageVersion()}\n`)
    return 0
  }
  const load = commandOf(args.slice(0, 2).join(' ')) ?? commandOf(args[0] ?? '')
  if (!load) {
    const isHelp = args.length === 0 || ['help', '--help', '-h'].includes(args[0] ?? '')
    ;(isHelp ? stdout : stderr).write(
      isHelp ? await usage() : `portico: no command '${args.join(' ')}'\n\n${await usage()}`,
    )
    return isHelp ? 0 : 2
  }
  const command = await load()
  const rest = args.slice(command.name.split(' ').length)
  const { values } = parseArgs({ args: rest, options: { ...command.options, help: { type: 'boolean', short: 'h' } } })
  if (values.help) {
    stdout.write(`portico ${command.name}: ${command.summary}\n\n${command.help}\n`)
    return 0
  }
  return command.run(values, bankingDomains)
}

/** The message of an error. A host with several addresses fails with an AggregateError, whose own message is empty. */
const describeError = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describeError).join(', ')
  return messageOf(error)
}

exitOnSignals()

/** A closed pipe, as with `head`, is a success. Every other write error is a failure. */
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  stderr.write(`portico: ${describeError(error)}\n`)
  process.exitCode = 1
})

try {
  const code = await main(argv.slice(2))
  if (code !== 0) exit(code)
} catch (error) {
  const isParse = errorCode(error)?.startsWith('ERR_PARSE_ARGS')
  const { ConfigurationError } = await import('./config/index.ts')
  const causes = error instanceof Error && error.cause instanceof Error ? `: ${describeError(error.cause)}` : ''
  stderr.write(`portico: ${describeError(error)}${causes}\n`)
  exit(isParse || error instanceof UsageError || error instanceof ConfigurationError ? 2 : 1)
}
