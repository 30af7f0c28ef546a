import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeDirectory } from '../../../src/database/embedded/data-directory.ts'
import { openEmbedded } from '../../../src/database/embedded/open-embedded.ts'
import { isBlobStoreUnavailable, openBlobs } from '../../../src/platform/blobs/index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-folders-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a folder is made with those above it, for its owner alone, however many make it at once', async () => {
  const path = join(folder, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 10 }, () => makeDirectory(path)))
  expect((await stat(path)).mode & 0o777).toBe(0o700)
  await makeDirectory(path)
})

test('where a file stands in its way, no folder is made, and the failure says so', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  await expect(makeDirectory(file)).rejects.toThrow(`EEXIST: file already exists, mkdir '${file}'`)
  await expect(makeDirectory(join(file, 'below'))).rejects.toThrow(`EEXIST: file already exists, mkdir '${file}'`)
})

test.skipIf(!existsSync('/proc/self'))('in a folder that takes none, making one fails at once', async () => {
  await expect(makeDirectory('/proc/portico')).rejects.toThrow('ENOENT')
  await expect(
    openEmbedded({ directory: '/proc/portico', isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined }),
  ).rejects.toThrow('the data directory /proc/portico (PORTICO_DATA_DIR) cannot be created')
  const blobs = await openBlobs({ kind: 'disk' }, '/proc/portico')
  const put = blobs.put('files/0190f4a0-0000-7000-8000-000000000001', Readable.from(['bytes']))
  expect(await put.catch(isBlobStoreUnavailable)).toBe(true)
})

test('a store whose files PGlite cannot use is refused, and the failure says why', async () => {
  const directory = join(folder, 'store')
  await mkdir(join(directory, 'pg', 'postgresql.conf'), { recursive: true })
  for (const name of ['PG_VERSION', 'portico.opened']) await writeFile(join(directory, 'pg', name), '18\n')
  await expect(
    openEmbedded({ directory, isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined }),
  ).rejects.toMatchObject({
    message: `the embedded store in ${directory} could not be opened`,
    cause: new Error('its files cannot be read or written (WASI errno 31)'),
  })
})

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'portico-lock-'))
})
afterEach(() => rm(directory, { recursive: true }))

const module = new URL('../../../src/database/embedded/data-directory.ts', import.meta.url).href

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
