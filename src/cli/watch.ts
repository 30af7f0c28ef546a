import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'

const settleMs = 200

/**
 * Calls back after SIGHUP, or when a file has changed. The folder is watched, since editors and orchestrators put a new
 * file in the old one's place; changes that come together count as one. Where it cannot be watched, since the system
 * watches as many as it may, say, `onFault` is told, and SIGHUP remains.
 */
export const onReload = (
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
