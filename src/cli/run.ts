import { parseArgs } from 'node:util'
import { packageVersion } from '../config/env.ts'
import { ConfigurationError } from '../config/index.ts'
import { describeError, errorCode } from '../kernel/index.ts'
import { type CommandContext, helpOf, helpOption, UsageError } from './command.ts'
import { commands } from './index.ts'
import type { Screen } from './progress.ts'

/** Returns the exit code. */
export function reportError(error: unknown, stderr: Pick<Screen, 'write'>): number {
  const isParse = errorCode(error)?.startsWith('ERR_PARSE_ARGS')
  stderr.write(`portico: ${describeError(error)}\n`)
  return isParse || error instanceof UsageError || error instanceof ConfigurationError ? 2 : 1
}

/**
 * Writes errors to standard error. Resolves with the exit code: 0 success, 1 failure, 2 invalid arguments or
 * configuration.
 */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    return await runUnchecked(args, context)
  } catch (error) {
    return reportError(error, context.stderr)
  }
}

async function runUnchecked(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context
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
  const rest = [...args].slice(command.name.split(' ').length)
  const { argument } = command
  const { values, positionals } = parseArgs({
    args: rest,
    options: { ...command.options, ...helpOption },
    allowPositionals: argument !== undefined,
  })
  if (positionals.length > 1) throw new UsageError(`unexpected argument '${positionals[1]}'`)
  if (values.help) {
    stdout.write(helpOf(command))
    return 0
  }
  return command.run(argument === undefined ? values : { ...values, [argument]: positionals[0] }, context)
}

/** Returns a command by its name. Ignores inherited properties such as `toString`, which are not commands. */
function commandOf(name: string) {
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

async function usage(): Promise<string> {
  return [
    'portico <command> [options]',
    '',
    ...(await Promise.all(Object.values(commands).map((load) => load()))).map(
      ({ name, summary }) => `  ${name.padEnd(18)} ${summary}`,
    ),
    '',
  ].join('\n')
}
