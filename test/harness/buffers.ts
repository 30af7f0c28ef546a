import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Returns the bytes that are alive outside the heap. */
export function bufferedBytes(): number {
  collectGarbage()
  const { arrayBuffers, external } = process.memoryUsage()
  return arrayBuffers + external
}

/** Resolves once `count` has not changed for `intervalMs`. On a busy machine, buffers take longer to fill. */
export async function untilUnchanged(count: () => number, intervalMs: number): Promise<void> {
  for (let before = -1; before !== count(); ) {
    before = count()
    await pause(intervalMs)
  }
}
