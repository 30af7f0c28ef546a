/*
 * The setting `runtime.tuning` controls all tuning except the import of node:http. docs/performance.md lists the
 * measured effects.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type * as http from 'node:http'
import { setPriority } from 'node:os'
import { getBuiltinModule } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Linux then gives a thread a tenth of the event loop's processor share. */
const workerNiceness = 10
const threads = '/proc/self/task'

/** libuv's threads hash passwords, and V8's collect garbage. */
const workerThread = /^libuv-worker|V8Worker/

let isTuned = false

/** Call this after startup: the worker threads must exist, and limited heap growth would slow startup down. */
export function tuneProcess(): void {
  isTuned = true
  lowerWorkerPriority()
  limitHeapGrowth()
}

type CollectGarbage = (options: { type: 'minor'; execution: 'sync' }) => void

const collectEveryBytes = 8 * 1024 * 1024

let collect: CollectGarbage | undefined
let bytesSinceCollection = 0

/**
 * Runs a minor collection after every 8 MB, which takes about a millisecond. V8 schedules collections by the size of
 * its heap, which does not include buffers.
 */
export function countStreamedBytes(bytes: number): void {
  if (!isTuned) return
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  collect ??= exposeCollector()
  collect({ type: 'minor', execution: 'sync' })
}

/**
 * An `import` of node:http reads all its properties, and reading `WebSocket` loads undici, which slows startup down.
 */
export const { Agent, IncomingMessage, Server, ServerResponse } = getBuiltinModule('node:http')

export type Agent = http.Agent
export type IncomingMessage = http.IncomingMessage
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> = http.ServerResponse<Request>

/**
 * Express changes the prototype of each message, which slows down all code that uses it. These classes already have
 * that prototype.
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

/** The event loop must win if both need the same core. Does nothing outside Linux. */
function lowerWorkerPriority(): void {
  try {
    for (const id of readdirSync(threads))
      if (workerThread.test(readFileSync(`${threads}/${id}/comm`, 'utf8'))) setPriority(Number(id), workerNiceness)
  } catch {
    // Without permission to change priorities, some requests are slower.
  }
}

/** Limits heap growth to twice the live data. By default, V8 lets a small heap grow to four times that. */
function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=100')
}

function exposeCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}
