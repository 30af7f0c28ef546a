import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import S3rver from '@20minutes/s3rver'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parseByteRange } from '../../../src/platform/blobs/download.ts'
import { type Blobs, isBlobStoreUnavailable, openBlobs } from '../../../src/platform/blobs/index.ts'

function key() {
  return `files/${randomUUID()}`
}
function megabytes(count: number): Buffer {
  return randomBytes(count * 1024 * 1024)
}

/** Includes sockets; 0 except on Linux. */
function openDescriptors(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}

async function openDisk() {
  const directory = await mkdtemp(join(tmpdir(), 'portico-disk-'))
  return {
    blobs: await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory),
    close: () => rm(directory, { recursive: true, force: true }),
    entries: async () => {
      const all = await readdir(directory, { recursive: true, withFileTypes: true })
      return all.filter((entry) => entry.isFile()).length
    },
  }
}

/** Opens an S3 store whose signatures over queries are wrong. */
async function openS3() {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const directory = await mkdtemp(join(tmpdir(), 'portico-s3-'))
  const options = {
    address: '127.0.0.1',
    port: 0,
    silent: true,
    allowMismatchedSignatures: true,
    directory,
    configureBuckets: [{ name: 'portico', configs: [] }],
  }
  const server = new S3rver(options)
  const { port } = await server.run()
  const storage = {
    kind: 's3',
    bucket: 'portico',
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    forcePathStyle: true,
    prefix: 'portico/',
    timeoutMs: 10_000,
  } as const
  const blobs = await openBlobs(storage, directory)
  const entries = async () => {
    const { bucket: Bucket, region, endpoint, forcePathStyle } = storage
    const client = new S3Client({ region, endpoint, forcePathStyle })
    const { KeyCount = 0 } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: storage.prefix }))
    client.destroy()
    return KeyCount
  }
  return {
    blobs,
    entries,
    close: async () => {
      await blobs.close()
      await server.close()
      await rm(directory, { recursive: true, force: true })
      vi.unstubAllEnvs()
    },
  }
}

describe.each([
  ['on disk', openDisk],
  ['on S3', openS3],
])('blobs %s', (_name, open) => {
  let opened: Awaited<ReturnType<typeof openDisk>>
  let blobs: Blobs
  beforeAll(async () => {
    opened = await open()
    blobs = opened.blobs
  })
  afterAll(() => opened.close())

  const putNew = async (content: Buffer): Promise<string> => {
    const at = key()
    await blobs.put(at, Readable.from(content, { objectMode: false }))
    return at
  }
  const read = async (at: string, range?: { first: number; last: number }) => {
    const bytes = await blobs.get(at, range)
    return bytes && buffer(bytes)
  }

  test('get: returns the whole blob or a range', async () => {
    const content = megabytes(11)
    const at = await putNew(content)
    expect((await read(at))?.equals(content)).toBe(true)
    const part = await read(at, { first: 6_000_000, last: 6_000_009 })
    expect(part?.equals(content.subarray(6_000_000, 6_000_010))).toBe(true)
    await blobs.delete(at)
    expect(await read(at)).toBeUndefined()
    await blobs.delete(at)
  })

  test('put: a source that fails leaves nothing', async () => {
    const before = await opened.entries()
    const broken = Readable.from(
      (async function* () {
        yield megabytes(6)
        throw new Error('the client went away')
      })(),
      { objectMode: false },
    )
    await expect(blobs.put(key(), broken)).rejects.toThrow('the client went away')
    // The store may still be removing received parts.
    await expect.poll(() => opened.entries()).toBe(before)
  })

  test('get: an abandoned download releases its source', async () => {
    const at = await putNew(megabytes(8))
    const before = openDescriptors()
    for (let count = 0; count < 20; count++) {
      const bytes = await blobs.get(at)
      if (!bytes) throw new Error('no blob')
      bytes.once('data', () => bytes.destroy())
      await once(bytes, 'close')
    }
    await expect.poll(openDescriptors).toBeLessThan(before + 10)
    await blobs.delete(at)
  })

  test('an invalid key is rejected', async () => {
    for (const bad of ['../etc/passwd', 'files/../../x', 'files/a', '/etc/passwd'])
      await expect(blobs.delete(bad)).rejects.toThrow('not a blob key')
  })
})

test('S3 without a response: unavailable within the timeout', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const silent = createServer((socket) => socket.on('error', () => undefined).resume())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const address = silent.address()
  const endpoint = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const blobs = await openBlobs(
    { kind: 's3', bucket: 'portico', region: 'us-east-1', endpoint, forcePathStyle: true, prefix: '', timeoutMs: 300 },
    '',
  )
  try {
    const requests = [
      blobs.get(key()),
      blobs.delete(key()),
      blobs.put(key(), Readable.from(megabytes(1), { objectMode: false })),
      blobs.put(key(), Readable.from([megabytes(6), megabytes(6)], { objectMode: false })),
    ]
    for (const each of await Promise.allSettled(requests))
      expect(each.status === 'rejected' && isBlobStoreUnavailable(each.reason)).toBe(true)
  } finally {
    await blobs.close()
    silent.close()
    vi.unstubAllEnvs()
  }
})

/** Sends the same response to every request. */
async function openAnswering(respond: (response: ServerResponse) => void, timeoutMs: number) {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const server = createHttpServer((request, response) => request.resume().on('end', () => respond(response)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const endpoint = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const common = { kind: 's3', bucket: 'portico', region: 'us-east-1', forcePathStyle: true, prefix: '' } as const
  const blobs = await openBlobs({ ...common, endpoint, timeoutMs }, '')
  const close = async () => {
    await blobs.close()
    server.closeAllConnections()
    server.close()
    vi.unstubAllEnvs()
  }
  return { blobs, close }
}

test.each([200, 403])(
  'S3 with a %i response that stops after its headers: unavailable within the timeout',
  async (status) => {
    const silent = await openAnswering(
      (response) => response.writeHead(status, { 'content-length': 99 }).flushHeaders(),
      300,
    )
    try {
      const requests = [
        silent.blobs.get(key()).then((bytes) => bytes && buffer(bytes)),
        silent.blobs.delete(key()),
        silent.blobs.put(key(), Readable.from(megabytes(1), { objectMode: false })),
        silent.blobs.put(key(), Readable.from([megabytes(6), megabytes(6)], { objectMode: false })),
      ]
      for (const each of await Promise.allSettled(requests))
        expect(each.status === 'rejected' && isBlobStoreUnavailable(each.reason)).toBe(true)
    } finally {
      await silent.close()
    }
  },
)

test.each([
  ['NoSuchKey', true],
  ['NoSuchBucket', false],
])('S3 delete 404 %s: counts as deleted: %s', async (code, isDone) => {
  const body = `<Error><Code>${code}</Code><Message>404</Message></Error>`
  const { blobs, close } = await openAnswering(
    (response) => response.writeHead(404, { 'content-type': 'application/xml' }).end(body),
    5_000,
  )
  try {
    const deleted = blobs.delete(key()).then(
      () => true,
      (error: unknown) => !isBlobStoreUnavailable(error),
    )
    expect(await deleted).toBe(isDone)
  } finally {
    await close()
  }
})

test('S3: sixty unread downloads do not block other requests', async () => {
  const content = randomBytes(500_000)
  const { blobs, close } = await openAnswering((response) => response.end(content), 5_000)
  const opened: (Readable | undefined)[] = []
  try {
    for (let count = 0; count < 60; count++) opened.push(await blobs.get(key()))
    await expect(blobs.delete(key())).resolves.toBeUndefined()
  } finally {
    for (const bytes of opened) bytes?.on('error', () => undefined).destroy()
    await close()
  }
})

test('S3 put 403: the error has S3’s message, for any upload size', async () => {
  const refusing = await openAnswering((response) => {
    const fields = { 'content-type': 'application/xml' }
    response.writeHead(403, fields).end('<Error><Code>AccessDenied</Code><Message>not you</Message></Error>')
  }, 5_000)
  try {
    for (const pieces of [1, 12]) {
      const source = Readable.from(
        Array.from({ length: pieces }, () => megabytes(1)),
        { objectMode: false },
      )
      await expect(refusing.blobs.put(key(), source)).rejects.toThrow('blobs: not you')
    }
  } finally {
    await refusing.close()
  }
})

test('S3 download: fails if the server stops sending, but not for a slow reader', async () => {
  const content = megabytes(2)
  let sentBytes = 100_000
  const timeoutMs = 300
  const { blobs, close } = await openAnswering((response) => {
    response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, sentBytes))
  }, timeoutMs)
  const readSlowly = async (pauseMs: number): Promise<number> => {
    let size = 0
    for await (const chunk of (await blobs.get(key())) ?? []) {
      if (size === 0) await pause(pauseMs)
      size += chunk.length
    }
    return size
  }
  try {
    const cutOff = await readSlowly(0).catch((error: unknown) => error)
    expect(isBlobStoreUnavailable(cutOff)).toBe(true)
    sentBytes = content.length
    expect(await readSlowly(3 * timeoutMs)).toBe(content.length)
  } finally {
    await close()
  }
})

test.each([
  [null, 'whole'],
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=9-', { first: 9, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-99', { first: 0, last: 9 }],
  ['bytes=2-99', { first: 2, last: 9 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=0-1,3-4', 'unsatisfiable'],
  ['bytes=3-2', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=a-b', 'whole'],
  ['bytes=1-9999999999999999', 'whole'],
  ['items=0-1', 'whole'],
])('parseByteRange of ten bytes: %s', (header, verdict) => {
  expect(parseByteRange(header, 10)).toEqual(verdict)
})

describe('a full disk', () => {
  test('put: refuses new blobs below the minimum of free space; reads and deletions continue', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'portico-full-'))
    const roomy = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
    const full = await openBlobs({ kind: 'disk', minimumFreeBytes: Number.MAX_SAFE_INTEGER }, directory)
    const [stored, refused] = [key(), key()]
    await roomy.put(stored, Readable.from([Buffer.from('kept')]))
    const error: unknown = await full.put(refused, Readable.from([Buffer.from('more')])).catch((reason) => reason)
    expect(isBlobStoreUnavailable(error)).toBe(true)
    expect(String(error)).toContain('bytes free')
    expect(await full.get(refused)).toBeUndefined()
    const bytes = await full.get(stored)
    expect(bytes && (await buffer(bytes)).toString()).toBe('kept')
    await full.delete(stored)
    const files = await readdir(directory, { recursive: true, withFileTypes: true })
    expect(files.filter((entry) => entry.isFile())).toEqual([])
    await rm(directory, { recursive: true })
  })
})
