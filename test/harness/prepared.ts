import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface Directory {
  directory: string
  remove(): Promise<void>
}

const acquire = (lock: string): Promise<boolean> =>
  mkdir(lock).then(
    () => true,
    () => false,
  )

/** Runs `fill` once per run. Concurrent workers wait for the first one. Tests must work on copies of the folder. */
export const prepareOnce = async (
  runFolder: string,
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> => {
  const folder = join(runFolder, name)
  const lock = `${folder}.lock`
  while (!existsSync(folder)) {
    if (!(await acquire(lock))) {
      await pause(50)
      continue
    }
    const draft = `${folder}.draft`
    try {
      if (existsSync(folder)) break
      await mkdir(draft)
      await chmod(draft, 0o755)
      await fill(draft)
      await rename(draft, folder)
    } finally {
      await rm(draft, { recursive: true, force: true })
      await rm(lock, { recursive: true })
    }
  }
  return folder
}

export const copyDirectory = async (runFolder: string, template: string): Promise<Directory> => {
  const directory = join(runFolder, `copy-${randomUUID()}`)
  await cp(template, directory, { recursive: true })
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
