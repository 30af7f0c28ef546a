import { type FSWatcher, watch } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import { exit } from 'node:process'

const signals = ['SIGTERM', 'SIGINT'] as const

const end = (signal: NodeJS.Signals) => exit(128 + constants.signals[signal])

/**
 * The first process of a container is spared by the system whatever signal it does not listen for: whoever stops one that starts or
 * migrates would wait until it is killed.
 */
export const exitOnSignals = (): void => {
  for (const signal of signals) process.on(signal, end)
}

/** Comes with the next signal, in place of the end; the one after it ends the process again. */
export const nextSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const heard = (signal: NodeJS.Signals) => {
      for (const each of signals) process.off(each, heard).on(each, end)
      resolve(signal)
    }
    for (const signal of signals) process.off(signal, end).on(signal, heard)
  })

const settleMs = 200

/**
 * Calls back after SIGHUP, or when a file has changed. The folder is watched, since editors and orchestrators put a new
 * file in the old one's place; changes that come together count as one. Where it cannot be watched, since the system
 * watches as many as it may, say, `onFault` is told, and SIGHUP remains.
 */
export const watchConfiguration = (
  file: string | undefined,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } => {
  let timer: NodeJS.Timeout | undefined
  const watched = (path: string): FSWatcher =>
    watch(dirname(path), (_event, name) => {
      // Kubernetes swaps a link beside the file, whose own name then never changes.
      if (name !== null && name !== basename(path) && name !== '..data') return
      clearTimeout(timer)
      timer = setTimeout(reload, settleMs)
    }).on('error', onFault)
  let watcher: FSWatcher | undefined
  try {
    if (file !== undefined) watcher = watched(resolve(file))
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
