import { parseArgs } from 'node:util'
import { packageVersion } from '../config/env.ts'
import { ConfigurationError } from '../config/index.ts'
import { describeError, errorCode } from '../kernel/index.ts'
import { type Command, type CommandContext, helpOf, helpOption, type ProgramContext, UsageError } from './command.ts'
import { commands } from './index.ts'
import type { Screen } from './progress.ts'

/** Returns the exit code. */
export function reportError(error: unknown, stderr: Pick<Screen, 'write'>): number {
  stderr.write(`portico: ${describeError(error)}\n`)
  return exitCodeOf(error)
}

const jsonOption = { json: { type: 'boolean' } } as const

/**
 * Writes errors to standard error, or with --json to standard output, as `{ error: { message, exitCode } }`. Resolves
 * with the exit code: 0 success, 1 failure, 2 invalid arguments or configuration.
 */
export async function runCommand(args: readonly string[], program: ProgramContext): Promise<number> {
  const { stdout, ...rest } = program
  const isJson = args.includes('--json')
  const print: CommandContext['print'] = (result, text) =>
    void stdout.write(isJson ? `${JSON.stringify(result, null, 2)}\n` : text)
  try {
    return await runUnchecked(args, { ...rest, print })
  } catch (error) {
    if (!isJson) return reportError(error, program.stderr)
    const exitCode = exitCodeOf(error)
    print({ error: { message: describeError(error), exitCode } }, '')
    return exitCode
  }
}

function exitCodeOf(error: unknown): number {
  const isParse = errorCode(error)?.startsWith('ERR_PARSE_ARGS')
  return isParse || error instanceof UsageError || error instanceof ConfigurationError ? 2 : 1
}

async function runUnchecked(args: readonly string[], context: CommandContext): Promise<number> {
  const { print } = context
  const [first = '', second = ''] = args
  if (first === '--version' || first === '-v') {
    print({ version: packageVersion() }, `${packageVersion()}\n`)
    return 0
  }
  const load = commandOf(`${first} ${second}`) ?? commandOf(first)
  if (!load) {
    const isGroup = Object.keys(commands).some((name) => name.startsWith(`${first} `))
    const text = await usage(isGroup ? `${first} ` : '')
    const asked = isGroup ? second : first
    if (args.length > 0 && !['help', '--help', '-h'].includes(asked))
      throw new UsageError(`no command '${args.join(' ')}'\n\n${text.trimEnd()}`)
    print({ help: text }, text)
    return 0
  }
  const command = await load()
  const rest = [...args].slice(command.name.split(' ').length)
  const { values, positionals } = parseOwnArgs(command, rest)
  if (positionals.length > 1) throw new UsageError(`unexpected argument '${positionals[1]}'`)
  if (values.help) {
    print({ help: helpOf(command) }, helpOf(command))
    return 0
  }
  const { argument } = command
  return command.run(argument === undefined ? values : { ...values, [argument]: positionals[0] }, context)
}

function parseOwnArgs({ argument, options, isServer = false }: Command, args: string[]) {
  return parseArgs({
    args,
    options: { ...options, ...helpOption, ...(isServer ? {} : jsonOption) },
    allowPositionals: argument !== undefined,
  })
}

/** Returns a command by its name. Ignores inherited properties such as `toString`, which are not commands. */
function commandOf(name: string) {
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

/** Lists the commands whose names begin with `group`, such as `account `. */
async function usage(group: string): Promise<string> {
  const listed = Object.entries(commands).filter(([name]) => name.startsWith(group))
  return [
    `portico ${group}<command> [options]`,
    '',
    ...(await Promise.all(listed.map(([, load]) => load()))).map(
      ({ name, summary }) => `  ${name.padEnd(20)} ${summary}`,
    ),
    '',
  ].join('\n')
}
