import { execFile } from 'node:child_process'
import { getPriority } from 'node:os'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const file = new URL('../../../src/platform/runtime/tuning.ts', import.meta.url).href

/** Runs in a child process, so that this one keeps its priorities. */
const script = `
  import { readdirSync, readFileSync } from 'node:fs'
  import { readFile } from 'node:fs/promises'
  import { getPriority } from 'node:os'
  import { lowerWorkerPriority } from ${JSON.stringify(file)}
  await readFile('/proc/self/stat')
  lowerWorkerPriority()
  const told = readdirSync('/proc/self/task').map((id) => [readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim(), getPriority(Number(id))])
  console.log(JSON.stringify(told))
`

test.skipIf(process.platform !== 'linux')('libuv’s workers and V8’s give way, and nobody else does', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  const told: [string, number][] = JSON.parse(stdout)
  // Node 24 names V8's without the `node-`.
  const kinds = [/^libuv-worker$/, /^(node-)?V8Worker$/]
  const others = told.filter(([name]) => !kinds.some((kind) => kind.test(name)))
  for (const kind of kinds) {
    const helpers = told.filter(([name]) => kind.test(name))
    expect(helpers.length, String(kind)).toBeGreaterThan(0)
    expect(new Set(helpers.map(([, niceness]) => niceness))).toEqual(new Set([10]))
  }
  expect(others.length).toBeGreaterThan(0)
  expect(new Set(others.map(([, niceness]) => niceness))).toEqual(new Set([getPriority()]))
})
