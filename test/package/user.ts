/* A user's shell and folders. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type PorticoProcess, startCommand } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { userEnvironment } from './environment.ts'

export interface Finished {
  code: number
  stdout: string
  stderr: string
}

/** Resolves with the output whether or not the command fails. */
export function runIn(
  cwd: string,
  [program = '', ...args]: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env: userEnvironment(variables), maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : Number(error !== null), stdout, stderr })
    })
  })
}

/** `part` names the installation. */
export function folderIn(part: 'production' | 'development'): Promise<string> {
  return mkdtemp(join(inject('package')[part], 'test-'))
}

/** Omits installed packages. */
export function copyExample(name: string, folder: string): Promise<void> {
  return cp(join(root, 'examples', name), join(folder, 'examples', name), {
    recursive: true,
    filter: (source) => !source.includes('node_modules'),
  })
}

export function startIn(
  cwd: string,
  command: readonly string[],
  variables: Record<string, string> = {},
): Promise<PorticoProcess> {
  return startCommand(
    command,
    { PORTICO_DATA_DIR: join(cwd, 'data'), LOG_LEVEL: 'warn', ...variables },
    { cwd, env: userEnvironment(), isGroup: true },
  )
}
