import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
  ).rejects.toThrow('the data directory /proc/portico (PORTICO_DATA_DIR) cannot be made')
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
