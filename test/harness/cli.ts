import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { dump } from 'js-yaml'
import type { Variables } from '../../src/config/env.ts'
import { root } from './settings.ts'

export interface CommandResult {
  code: number | null
  out: string
  err: string
}

/** Default: a new data directory. */
export const runCli = async (
  args: readonly string[],
  configuration: object,
  variables: Variables = {},
  input = '',
  cwd = root,
): Promise<CommandResult> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-cli-'))
  const file = join(folder, 'portico.yaml')
  await writeFile(file, dump(configuration))
  const env = {
    ...process.env,
    PORTICO_CONFIG: file,
    PORTICO_DATA_DIR: join(folder, 'data'),
    ...variables,
    NODE_OPTIONS: '',
  }
  const child = spawn(process.execPath, [join(root, 'bin/portico.js'), ...args], { cwd, env })
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  await rm(folder, { recursive: true, force: true })
  return { code: child.exitCode, out, err }
}
