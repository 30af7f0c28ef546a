import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of the file's worker and of its ended child processes. */
    cpuSeconds?: number
  }
}

/** Linux counts 100 ticks per second. */
const ticksPerSecond = 100

function cpuSeconds(): number {
  try {
    // The name of the program, in parentheses, can contain spaces.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number)
    return (user + system + childUser + childSystem) / ticksPerSecond
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}

const before = cpuSeconds()

// biome-ignore lint/correctness/noEmptyPattern: Vitest accepts only a pattern, and no fixture is needed.
afterAll(({}, file) => {
  file.meta.cpuSeconds = cpuSeconds() - before
})
