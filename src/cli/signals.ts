import cluster from 'node:cluster'
import { type FSWatcher, watch } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { exit } from 'node:process'

const signals = ['SIGTERM', 'SIGINT'] as const

/** As a container's first process, Node would otherwise ignore these signals until SIGKILL. */
export function exitOnSignals(): void {
  for (const signal of signals) process.on(signal, terminate)
}

/** Only the second signal ends the process, unless it is a worker. */
export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Add before removing: without any listener, Node drops a signal that has arrived but was not delivered.
    const receive = (signal: NodeJS.Signals) => {
      for (const each of signals) process.on(each, endAfterSecond).off(each, receive)
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, receive).off(signal, terminate)
  })
}

/** The process has received a signal before it served. */
export class StartInterrupted extends Error {}

/** Meanwhile, the first signal rejects instead of ending the process immediately. */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const abort = (received: NodeJS.Signals): void => {
    for (const each of signals) process.on(each, endAfterSecond).off(each, abort)
    interrupted.abort(new StartInterrupted(received))
  }
  for (const each of signals) process.on(each, abort).off(each, terminate)
  const ended = Promise.withResolvers<never>()
  interrupted.signal.addEventListener('abort', () => ended.reject(interrupted.signal.reason))
  try {
    return await Promise.race([work(interrupted.signal), ended.promise])
  } finally {
    if (!interrupted.signal.aborted) for (const each of signals) process.on(each, terminate).off(each, abort)
  }
}

const settleMs = 200

/**
 * Debounces changes of the file. Watches the folder, because editors and orchestrators replace the file. If that fails,
 * `onFault` gets the error and SIGHUP still works.
 */
export function watchConfiguration(
  file: string | undefined,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  const watchFolder = (path: string): FSWatcher =>
    watch(dirname(path), (_event, name) => {
      // Kubernetes replaces only the link `..data` next to the file.
      if (name !== null && name !== basename(path) && name !== '..data') return
      clearTimeout(timer)
      timer = setTimeout(reload, settleMs)
    }).on('error', onFault)
  let watcher: FSWatcher | undefined
  try {
    if (file !== undefined) watcher = watchFolder(resolve(file))
  } catch (error) {
    onFault(error)
  }
  process.on('SIGHUP', reload)
  return {
    close: () => {
      clearTimeout(timer)
      watcher?.close()
      process.off('SIGHUP', reload)
    },
  }
}

/**
 * A signal to a process group, such as Ctrl-C, reaches a worker twice: directly, and from its supervisor. The supervisor
 * ends it with SIGKILL.
 */
function endAfterSecond(signal: NodeJS.Signals): void {
  if (!cluster.isWorker) terminate(signal)
}

function terminate(signal: NodeJS.Signals) {
  return exit(128 + constants.signals[signal])
}
