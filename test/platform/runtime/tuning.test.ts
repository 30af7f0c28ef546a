import { execFile } from 'node:child_process'
import { getPriority } from 'node:os'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'

const file = new URL('../../../src/platform/runtime/tuning.ts', import.meta.url).href

/** This process must keep its priorities. */
const script = `
  import { readdirSync, readFileSync } from 'node:fs'
  import { readFile } from 'node:fs/promises'
  import { getPriority } from 'node:os'
  import { tuneProcess } from ${JSON.stringify(file)}
  await readFile('/proc/self/stat')
  tuneProcess()
  const threads = readdirSync('/proc/self/task').map((id) => [readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim(), getPriority(Number(id))])
  console.log(JSON.stringify(threads))
`

test(
  'tuneProcess: lowers the priority of the worker threads of libuv and V8, and of no others',
  needs(process.platform === 'linux', 'requires Linux'),
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    const threads: [string, number][] = JSON.parse(stdout)
    // Node 24 omits the prefix `node-`.
    const kinds = [/^libuv-worker$/, /^(node-)?V8Worker$/]
    const others = threads.filter(([name]) => !kinds.some((kind) => kind.test(name)))
    for (const kind of kinds) {
      const workers = threads.filter(([name]) => kind.test(name))
      expect(workers.length, String(kind)).toBeGreaterThan(0)
      expect(new Set(workers.map(([, niceness]) => niceness))).toEqual(new Set([10]))
    }
    expect(others.length).toBeGreaterThan(0)
    expect(new Set(others.map(([, niceness]) => niceness))).toEqual(new Set([getPriority()]))
  },
)
