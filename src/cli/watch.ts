import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'

const settleMs = 200

/**
 * Calls back after SIGHUP, or when a file has changed. The folder is watched, since editors and orchestrators put a new
 * file in the old one's place; changes that come together count as one.
 */
export const onReload = (file: string | undefined, reload: () => Promise<void>): { close(): void } => {
  let timer: NodeJS.Timeout | undefined
  let watcher: FSWatcher | undefined
  if (file !== undefined) {
    const path = resolve(file)
    watcher = watch(dirname(path), (_event, name) => {
      // Kubernetes swaps a link beside the file, whose own name then never changes.
      if (name !== null && name !== basename(path) && name !== '..data') return
      clearTimeout(timer)
      timer = setTimeout(reload, settleMs)
    })
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
