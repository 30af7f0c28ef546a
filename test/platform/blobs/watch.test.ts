import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openBlobs, watchBlobs } from '../../../src/platform/blobs/index.ts'
import { createDependencyLog } from '../../../src/platform/dependency-log.ts'
import { captureLog } from '../../harness/log.ts'

let status = 200
const s3 = createServer((_request, response) => response.writeHead(status).end())
let folder = ''
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'planted-id')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'planted-key')
  await new Promise<void>((resolve) => s3.listen(0, '127.0.0.1', resolve))
  folder = await mkdtemp(join(tmpdir(), 'portico-watch-'))
})
afterEach(() => void vi.useRealTimers())
afterAll(async () => {
  vi.unstubAllEnvs()
  s3.close()
  await rm(folder, { recursive: true, force: true })
})

function openBucket(port = (s3.address() as AddressInfo).port) {
  const place = { bucket: 'statements', region: 'us-east-1', forcePathStyle: true, prefix: '' }
  return openBlobs({ kind: 's3', endpoint: `http://127.0.0.1:${port}`, ...place, timeoutMs: 5_000 }, folder)
}
function watchLog() {
  const { logger, lines, raw } = captureLog()
  let now = 0
  const log = createDependencyLog(logger, { now: () => now })
  const skip = (ms: number): void => {
    now += ms
  }
  return { log, lines, raw, skip }
}

test.each([
  [404, 'the bucket statements (files.storage.bucket) cannot be used: it does not exist'],
  [403, 'the bucket statements (files.storage.bucket) cannot be used: access denied; check the credentials, and grant'],
  [301, 'the bucket statements (files.storage.bucket) cannot be used: it is in another region (files.storage.region)'],
])('watchBlobs: a bucket with status %i ends the start and names the field', async (refused, message) => {
  const blobs = await openBucket()
  status = refused
  await expect(watchBlobs(blobs, watchLog().log)).rejects.toThrow(message)
  await blobs.close()
})

test('watchBlobs: a folder that cannot be written ends the start and names the variable', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  const blobs = await openBlobs({ kind: 'disk' }, file)
  await expect(watchBlobs(blobs, watchLog().log)).rejects.toThrow(
    /the folder .*blobs \(PORTICO_DATA_DIR\) cannot be written/,
  )
})

test('watchBlobs: storage that is away, or a bucket that disappears, is a failed check with one line', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { log, lines, raw, skip } = watchLog()
  const away = await openBucket(1)
  const early = await watchBlobs(away, log)
  await expect(early.check()).rejects.toThrow('cannot be used')
  early.close()
  await away.close()
  expect(lines).toMatchObject([{ dependency: 'files', reason: expect.stringContaining('ECONNREFUSED') }])

  status = 200
  skip(10_000)
  const blobs = await openBucket()
  const watch = await watchBlobs(blobs, log)
  await watch.check()
  status = 404
  const isFailed = () =>
    watch.check().then(
      () => false,
      () => true,
    )
  const tick = async (): Promise<boolean> => {
    vi.advanceTimersByTime(10_000)
    await new Promise(setImmediate)
    return isFailed()
  }
  await expect.poll(tick).toBe(true)
  await tick()
  status = 200
  const recovers = async (): Promise<number> => {
    skip(10_000)
    await tick()
    return lines.length
  }
  await expect.poll(recovers).toBe(4)
  await watch.check()
  watch.close()
  await blobs.close()
  expect(lines.map(({ msg }) => msg)).toEqual([
    'dependency failed',
    'dependency works again',
    'dependency failed',
    'dependency works again',
  ])
  expect(raw.join()).not.toMatch(/planted-key|\.ts:/)
})
