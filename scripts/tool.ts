/*
 * Runs a tool of tools/, for example `node scripts/tool.ts biome check`. The tools have a separate lock file,
 * because they take a third of the space of all packages and only the checks need them. The first run installs them.
 */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, stderr } from 'node:process'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../tools', import.meta.url))
const installed = join(folder, 'node_modules/.installed')

/** Does nothing if the installed tools are those of the lock file. */
export function installTools(): void {
  const lock = hash('sha256', readFileSync(join(folder, 'package-lock.json')))
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return
  stderr.write('installing the tools of the checks into tools/\n')
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('npm ci failed in tools/')
  writeFileSync(installed, lock)
}

/** Returns the path of a tool, and installs the tools if necessary. */
export function toolPath(name: string): string {
  installTools()
  const path = join(folder, 'node_modules/.bin', name)
  if (!existsSync(path)) throw new Error(`tools/ has no tool ${name}`)
  return path
}

if (import.meta.main) {
  const [name = '', ...args] = argv.slice(2)
  try {
    process.exitCode = spawnSync(toolPath(name), args, { stdio: 'inherit' }).status ?? 1
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
