import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inject } from 'vitest'

export interface Directory {
  directory: string
  remove(): Promise<void>
}

function acquire(lock: string): Promise<boolean> {
  return mkdir(lock).then(
    () => true,
    () => false,
  )
}

/** Runs `fill` once per run. Concurrent workers wait for the first one. Tests must work on copies of the folder. */
export async function prepareOnce(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('runFolder'), name)
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

/** Copies the folder that `fill` has prepared. */
export async function copyOf(name: string, fill: (folder: string) => Promise<void>): Promise<Directory> {
  const directory = join(inject('runFolder'), `copy-${randomUUID()}`)
  await cp(await prepareOnce(name, fill), directory, { recursive: true })
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}
