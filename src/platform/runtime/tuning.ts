/*
 * Tuning of the Node process. The setting `runtime.tuning` turns all of it on or off, except the import of node:http at
 * the end. docs/performance.md lists the measured effect of each measure.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type * as http from 'node:http'
import { setPriority } from 'node:os'
import { getBuiltinModule } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Limits heap growth to twice the live data between two major collections. By default V8 lets a small heap grow to four
 * times its live data.
 */
const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=100')

/** A tenth of the event loop's share of the processor, by Linux's weights. */
const workerNiceness = 10
const threads = '/proc/self/task'

/** The threads of libuv, which hash passwords, and of V8, which collect garbage. */
const workerThread = /^libuv-worker|V8Worker/

/**
 * Lowers the priority of worker threads, so that the event loop wins if both need the same core. Works on Linux, where
 * each thread has a priority; does nothing elsewhere.
 */
const lowerWorkerPriority = (): void => {
  try {
    for (const id of readdirSync(threads))
      if (workerThread.test(readFileSync(`${threads}/${id}/comm`, 'utf8'))) setPriority(Number(id), workerNiceness)
  } catch {
    // Without permission, all threads keep the same priority. That is correct, but slower for some requests.
  }
}

let isTuned = false

/**
 * Tunes this process. Call it after the start, because the worker threads must exist, and because limited heap growth
 * would slow the start down.
 */
export const tuneProcess = (): void => {
  isTuned = true
  lowerWorkerPriority()
  limitHeapGrowth()
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
 * Counts streamed bytes, and runs a minor collection after every 8 MB, which takes about a millisecond. V8 schedules
 * collections by the size of its own heap, and buffers are outside it. Does nothing in a process that is not tuned.
 */
export const countStreamedBytes = (bytes: number): void => {
  if (!isTuned) return
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  collect ??= exposeCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/**
 * node:http for modules that load at every start. An `import` reads all properties of the module, and the getter of
 * WebSocket loads Node's own undici. `getBuiltinModule` does not.
 */
export const { Agent, IncomingMessage, Server, ServerResponse } = getBuiltinModule('node:http')

export type Agent = http.Agent
export type IncomingMessage = http.IncomingMessage
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> = http.ServerResponse<Request>

/**
 * Returns the request and response classes that a server must use for an Express app. Express changes the prototype of
 * each message, after which V8 runs all code that touches it slowly. These classes already have the prototype that Express
 * sets.
 */
export function createMessageClasses(app: { request: object; response: object }): {
  IncomingMessage: typeof http.IncomingMessage
  ServerResponse: typeof http.ServerResponse<IncomingMessage>
} {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Request extends IncomingMessage = AppRequest> extends ServerResponse<Request> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}
