import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { dump } from 'js-yaml'
import { bankingDomains } from '../../src/banking/index.ts'
import { runCommand } from '../../src/cli/run.ts'
import type { Variables } from '../../src/config/env.ts'
import { root } from './settings.ts'

export interface CommandResult {
  code: number | null
  out: string
  err: string
}

/** Default: a new data directory. */
async function withConfiguration<T>(
  configuration: object,
  variables: Variables,
  work: (variables: Variables) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-cli-'))
  try {
    const file = join(folder, 'portico.yaml')
    await writeFile(file, dump(configuration))
    return await work({ PORTICO_CONFIG: file, PORTICO_DATA_DIR: join(folder, 'data'), ...variables })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs a command in this process, in the clone as its working directory. `runProgram` starts a process. */
export function runCli(
  args: readonly string[],
  configuration: object,
  variables: Variables = {},
  input = '',
): Promise<CommandResult> {
  return withConfiguration(configuration, variables, async (all) => {
    const written = { out: '', err: '' }
    const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
    const code = await runCommand(args, {
      domains: bankingDomains,
      variables: set,
      stdin: Readable.from([input]),
      stdout: { write: (chunk) => (written.out += chunk) },
      stderr: { isTTY: false, write: (chunk) => (written.err += chunk) },
    })
    return { code, ...written }
  })
}

/** Runs a command as a user does. Takes a second, so use it for what only a process shows. */
export function runProgram(
  args: readonly string[],
  configuration: object,
  { variables = {}, cwd = root }: { variables?: Variables; cwd?: string } = {},
): Promise<CommandResult> {
  return withConfiguration(configuration, variables, async (all) => {
    const env = { ...process.env, ...all, NODE_OPTIONS: '' }
    const child = spawn(process.execPath, [join(root, 'bin/portico.js'), ...args], { cwd, env })
    child.stdin.end()
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, out, err }
  })
}
