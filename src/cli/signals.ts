import { type FSWatcher, watch } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { exit } from 'node:process'

const signals = ['SIGTERM', 'SIGINT'] as const

const terminate = (signal: NodeJS.Signals) => exit(128 + constants.signals[signal])

/**
 * Ends the process on SIGTERM and SIGINT. The first process of a container ignores signals without a listener, so
 * stopping the container would take until SIGKILL.
 */
export const exitOnSignals = (): void => {
  for (const signal of signals) process.on(signal, terminate)
}

/** Resolves with the next signal. That signal does not end the process, but the one after it does. */
export const nextSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const receive = (signal: NodeJS.Signals) => {
      for (const each of signals) process.off(each, receive).on(each, terminate)
      resolve(signal)
    }
    for (const signal of signals) process.off(signal, terminate).on(signal, receive)
  })

const settleMs = 200

/**
 * Calls `reload` after SIGHUP and after a change of the configuration file. The folder is watched, because editors and
 * orchestrators replace the file. Several changes within a short time count as one. If the folder cannot be watched,
 * `onFault` gets the error and SIGHUP still works.
 */
export const watchConfiguration = (
  file: string | undefined,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } => {
  let timer: NodeJS.Timeout | undefined
  const watchFolder = (path: string): FSWatcher =>
    watch(dirname(path), (_event, name) => {
      // Kubernetes does not replace the file, but the link `..data` next to it.
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
