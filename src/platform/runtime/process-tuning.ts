import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * V8 lets a heap as small as ours grow to four times what lives in it before it looks for old garbage: resident memory
 * would swing by 100 MB. From here on it looks at twice, under load every half minute. To be called after the start, which
 * it would make longer.
 */
export const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=100')

/** As Linux weighs it, a tenth of what the event loop gets. */
const niceness = 10
const threads = '/proc/self/task'

/** libuv's, whose longest work are password hashes, and V8's, which look for garbage beside what runs. */
const helperThread = /^libuv-worker|V8Worker/

/**
 * Lets helping threads give way to the event loop where both want the same core: then many logins at once take longer, and
 * everybody else is served meanwhile. On Linux, where a thread has a priority of its own; elsewhere, or where it is not
 * allowed, nothing changes. To be called once the threads exist.
 */
export const lowerWorkerPriority = (): void => {
  try {
    for (const id of readdirSync(threads))
      if (helperThread.test(readFileSync(`${threads}/${id}/comm`, 'utf8'))) setPriority(Number(id), niceness)
  } catch {
    // Without it all threads count the same, which is right as well, only slower for some.
  }
}

type CollectGarbage = (options: { type: 'minor'; execution: 'sync' }) => void

const collectEveryBytes = 8 * 1024 * 1024

const exposeCollector = (): CollectGarbage => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

let collect: CollectGarbage | undefined
let since = 0

/**
 * To be told by whoever passes a stream's bytes on. V8 looks for young garbage by how much of its own heap is in use,
 * and the bytes of buffers lie outside it: of 100 MB that were streamed, 40 lay about. So it is asked to look after
 * every 8 MB, which takes it a millisecond or so.
 */
export const countStreamedBytes = (bytes: number): void => {
  since += bytes
  if (since < collectEveryBytes) return
  since = 0
  collect ??= exposeCollector()
  collect({ type: 'minor', execution: 'sync' })
}
