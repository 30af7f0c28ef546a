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
import { needs } from '../../harness/needs.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-folders-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('makeDirectory: creates missing parents for the owner only, also concurrently', async () => {
  const path = join(folder, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 10 }, () => makeDirectory(path)))
  expect((await stat(path)).mode & 0o777).toBe(0o700)
  await makeDirectory(path)
})

test('makeDirectory EEXIST: a file in the path is an error', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  await expect(makeDirectory(file)).rejects.toThrow(`EEXIST: file already exists, mkdir '${file}'`)
  await expect(makeDirectory(join(file, 'below'))).rejects.toThrow(`EEXIST: file already exists, mkdir '${file}'`)
})

test(
  'makeDirectory: fails in a file system that cannot create folders',
  needs(existsSync('/proc/self'), 'this system has no /proc'),
  async () => {
    await expect(makeDirectory('/proc/portico')).rejects.toThrow('ENOENT')
    await expect(
      openEmbedded({ directory: '/proc/portico', isDurable: false, minimumFreeBytes: 0, onDiskFull: () => undefined }),
    ).rejects.toThrow('the data directory /proc/portico (PORTICO_DATA_DIR) cannot be created')
    const blobs = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, '/proc/portico')
    const put = blobs.put('files/0190f4a0-0000-7000-8000-000000000001', Readable.from(['bytes']))
    expect(await put.catch(isBlobStoreUnavailable)).toBe(true)
  },
)

test('openEmbedded: unusable files are an error with the WASI error number', async () => {
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

/** Runs without root, because root can write everywhere. Returns 'locked' or the error message. */
function runInChild(steps: string): string {
  const script = `
    const { lockDirectory } = await import(${JSON.stringify(module)})
    if (process.getuid?.() === 0) process.seteuid(65534)
    const lock = () => lockDirectory(${JSON.stringify(directory)})
    try { ${steps}; console.log('locked') } catch (error) { console.log(error.message) }`
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout.trim()
}

test('lockDirectory: one lock at a time, available again after release', async () => {
  await chmod(directory, 0o777)
  expect(runInChild('lock().release(); lock()')).toBe('locked')
  expect(runInChild('const first = lock(); lock()')).toContain('is in use by another process')
})

test('lockDirectory: a read-only lock file is an error, because its lock would be shared', async () => {
  await chmod(directory, 0o777)
  await writeFile(join(directory, 'lock'), '', { mode: 0o444 })
  expect(runInChild('lock()')).toBe(`the data directory ${directory} (PORTICO_DATA_DIR) cannot be written`)
})
