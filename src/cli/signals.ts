import { type FSWatcher, watch } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { exit } from 'node:process'

const signals = ['SIGTERM', 'SIGINT'] as const

/** As a container's first process, Node would otherwise ignore these signals until SIGKILL. */
export function exitOnSignals(): void {
  for (const signal of signals) process.on(signal, terminate)
}

/** Only the second signal ends the process. */
export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Add before removing: without any listener, Node drops a signal that has arrived but was not delivered.
    const receive = (signal: NodeJS.Signals) => {
      for (const each of signals) process.on(each, terminate).off(each, receive)
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, receive).off(signal, terminate)
  })
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

function terminate(signal: NodeJS.Signals) {
  return exit(128 + constants.signals[signal])
}
