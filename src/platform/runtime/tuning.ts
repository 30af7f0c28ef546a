import { readdirSync, readFileSync } from 'node:fs'
import type * as http from 'node:http'
import { setPriority } from 'node:os'
import { getBuiltinModule } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/*
 * Three measured adjustments of the process (docs/performance.md). None has a setting: each is safe everywhere and does
 * nothing where the platform does not support it.
 */

/**
 * Limits heap growth to twice the live data between two major collections. By default V8 lets a small heap grow to four
 * times its live data, and resident memory varies by 100 MB. Call this after the start, which it would slow down.
 */
export const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=100')

/** A tenth of the event loop's share of the processor, by Linux's weights. */
const workerNiceness = 10
const threads = '/proc/self/task'

/** The threads of libuv, which hash passwords, and of V8, which collect garbage. */
const workerThread = /^libuv-worker|V8Worker/

/**
 * Lowers the priority of worker threads, so that the event loop wins if both need the same core: many concurrent logins
 * then take longer, and other requests do not. Works on Linux, where each thread has a priority; does nothing
 * elsewhere. Call this once the threads exist.
 */
export const lowerWorkerPriority = (): void => {
  try {
    for (const id of readdirSync(threads))
      if (workerThread.test(readFileSync(`${threads}/${id}/comm`, 'utf8'))) setPriority(Number(id), workerNiceness)
  } catch {
    // All threads keep the same priority, which is correct but slower for some requests.
  }
}

type CollectGarbage = (options: { type: 'minor'; execution: 'sync' }) => void

const collectEveryBytes = 8 * 1024 * 1024

const exposeCollector = (): CollectGarbage => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

let collect: CollectGarbage | undefined
let bytesSinceCollection = 0

/**
 * Counts streamed bytes, and runs a minor collection after every 8 MB, which takes about a millisecond. V8 decides by the
 * use of its own heap when to collect, and buffers lie outside it: of 100 MB streamed, 40 MB stayed in memory.
 */
export const countStreamedBytes = (bytes: number): void => {
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  collect ??= exposeCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/**
 * node:http for modules that load at every start. An `import` of it reads all its properties. One of them, the getter of
 * WebSocket, loads Node's own undici, which takes about 30 ms. `getBuiltinModule` does not.
 */

export const { Agent, IncomingMessage, Server, ServerResponse } = getBuiltinModule('node:http')

export type Agent = http.Agent
export type IncomingMessage = http.IncomingMessage
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> = http.ServerResponse<Request>
