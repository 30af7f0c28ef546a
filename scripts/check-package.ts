/* Packs portico and portico-client and checks them with publint and "are the types wrong": `node scripts/check-package.ts [folder]`. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { pack } from './pack.ts'
import { toolPath } from './tool.ts'

function run(name: string, ...args: string[]) {
  return spawnSync(toolPath(name), args, { encoding: 'utf8', maxBuffer: 2 ** 27 })
}

/** ES modules support neither CommonJS nor TypeScript's node10 resolution. */
function checks(tarball: string) {
  return [
    run('publint', 'run', '--strict', tarball),
    run('attw', '--profile', 'esm-only', '--format', 'ascii', tarball),
  ]
}

function findings(tarball: string): string[] {
  return checks(tarball).flatMap(({ status, stdout: report, stderr: error }) =>
    // attw exits with 0 for a package without types.
    status === 0 && !report.includes('does not contain types') ? [] : [report + error],
  )
}

const folder = argv[2] ?? mkdtempSync(join(tmpdir(), 'portico-package-'))
try {
  for (const tarball of Object.values(pack(folder))) {
    const found = findings(tarball)
    for (const finding of found) stderr.write(`${finding}\n`)
    stdout.write(`${tarball}: ${found.length} findings\n`)
    if (found.length > 0) process.exitCode = 1
  }
} finally {
  if (!argv[2]) rmSync(folder, { recursive: true, force: true })
}
