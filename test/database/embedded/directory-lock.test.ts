import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'portico-lock-'))
})
afterEach(() => rm(directory, { recursive: true }))

const module = new URL('../../../src/database/embedded/directory-lock.ts', import.meta.url).href

/** A process of its own locks the directory twice over; as root it gives that up first, since root may write everything. */
const lockedIn = (steps: string): string => {
  const script = `
    const { lockDirectory } = await import(${JSON.stringify(module)})
    if (process.getuid?.() === 0) process.seteuid(65534)
    const lock = () => lockDirectory(${JSON.stringify(directory)})
    try { ${steps}; console.log('locked') } catch (error) { console.log(error.message) }`
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout.trim()
}

test('a directory is locked once, and again when it was released', async () => {
  await chmod(directory, 0o777)
  expect(lockedIn('lock().release(); lock()')).toBe('locked')
  expect(lockedIn('const held = lock(); lock()')).toContain('is in use by another process')
})

test('one whose lock may only be read cannot be locked at all, since others could read it as well', async () => {
  await chmod(directory, 0o777)
  await writeFile(join(directory, 'lock'), '', { mode: 0o444 })
  expect(lockedIn('lock()')).toBe(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be written`)
})
