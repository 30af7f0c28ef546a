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

const key = () => `files/${randomUUID()}`
const megabytes = (count: number): Buffer => randomBytes(count * 1024 * 1024)

/** Files and sockets of this process; elsewhere than on Linux nobody counts them. */
const openDescriptors = (): number => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)

const openDisk = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-disk-'))
  return {
    blobs: await openBlobs({ kind: 'disk' }, directory),
    close: () => rm(directory, { recursive: true, force: true }),
    entries: async () => {
      const all = await readdir(directory, { recursive: true, withFileTypes: true })
      return all.filter((entry) => entry.isFile()).length
    },
  }
}

/** An S3 server from npm, which takes the credentials that everybody knows, and miscounts signatures over queries. */
const openS3 = async () => {
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

  const stored = async (content: Buffer): Promise<string> => {
    const at = key()
    await blobs.put(at, Readable.from(content, { objectMode: false }))
    return at
  }
  const read = async (at: string, range?: { first: number; last: number }) => {
    const bytes = await blobs.get(at, range)
    return bytes && buffer(bytes)
  }

  test('what was put can be had again, whole and in part', async () => {
    const content = megabytes(11)
    const at = await stored(content)
    expect((await read(at))?.equals(content)).toBe(true)
    const part = await read(at, { first: 6_000_000, last: 6_000_009 })
    expect(part?.equals(content.subarray(6_000_000, 6_000_010))).toBe(true)
    await blobs.delete(at)
    expect(await read(at)).toBeUndefined()
    await blobs.delete(at)
  })

  test('a source that breaks off leaves nothing', async () => {
    const before = await opened.entries()
    const broken = Readable.from(
      (async function* () {
        yield megabytes(6)
        throw new Error('the client went away')
      })(),
      { objectMode: false },
    )
    await expect(blobs.put(key(), broken)).rejects.toThrow('the client went away')
    expect(await opened.entries()).toBe(before)
  })

  test('downloads that nobody reads to their end let go of their sources', async () => {
    const at = await stored(megabytes(8))
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

  test('a key is ours or none', async () => {
    for (const bad of ['../etc/passwd', 'files/../../x', 'files/a', '/etc/passwd'])
      await expect(blobs.delete(bad)).rejects.toThrow('not a blob key')
  })
})

test('an S3 that takes a request and does not answer is given up in time', async () => {
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
    const asked = [
      blobs.get(key()),
      blobs.delete(key()),
      blobs.put(key(), Readable.from(megabytes(1), { objectMode: false })),
      blobs.put(key(), Readable.from([megabytes(6), megabytes(6)], { objectMode: false })),
    ]
    for (const each of await Promise.allSettled(asked))
      expect(each.status === 'rejected' && isBlobStoreUnavailable(each.reason)).toBe(true)
  } finally {
    await blobs.close()
    silent.close()
    vi.unstubAllEnvs()
  }
})

/** Of an S3 that answers every request, once it has taken it, in one way. */
const answering = async (answer: (response: ServerResponse) => void, timeoutMs: number) => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const server = createHttpServer((request, response) => request.resume().on('end', () => answer(response)))
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

test.each([200, 403])('an S3 whose answer, a %i, ends with its head is given up in time', async (status) => {
  const silent = await answering((response) => response.writeHead(status, { 'content-length': 99 }).flushHeaders(), 300)
  try {
    const asked = [
      silent.blobs.get(key()).then((bytes) => bytes && buffer(bytes)),
      silent.blobs.delete(key()),
      silent.blobs.put(key(), Readable.from(megabytes(1), { objectMode: false })),
      silent.blobs.put(key(), Readable.from([megabytes(6), megabytes(6)], { objectMode: false })),
    ]
    for (const each of await Promise.allSettled(asked))
      expect(each.status === 'rejected' && isBlobStoreUnavailable(each.reason)).toBe(true)
  } finally {
    await silent.close()
  }
})

test.each([
  ['NoSuchKey', true],
  ['NoSuchBucket', false],
])('a deletion that an S3 answers 404 %s has nothing to do: %s', async (code, isDone) => {
  const answer = `<Error><Code>${code}</Code><Message>404</Message></Error>`
  const { blobs, close } = await answering(
    (response) => response.writeHead(404, { 'content-type': 'application/xml' }).end(answer),
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

test('an S3 is asked however many downloads wait for whoever takes them', async () => {
  const content = randomBytes(500_000)
  const { blobs, close } = await answering((response) => response.end(content), 5_000)
  const opened: (Readable | undefined)[] = []
  try {
    for (let count = 0; count < 60; count++) opened.push(await blobs.get(key()))
    await expect(blobs.delete(key())).resolves.toBeUndefined()
  } finally {
    for (const bytes of opened) bytes?.on('error', () => undefined).destroy()
    await close()
  }
})

test('what an S3 refuses an upload for is told, however long the upload is', async () => {
  const refusing = await answering((response) => {
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

test('an S3 that falls silent in the middle of a download is given up in time, a reader who takes his time is not', async () => {
  const content = megabytes(2)
  let said = 100_000
  const timeoutMs = 300
  const { blobs, close } = await answering((response) => {
    response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, said))
  }, timeoutMs)
  const taken = async (pauseMs: number): Promise<number> => {
    let size = 0
    for await (const chunk of (await blobs.get(key())) ?? []) {
      if (size === 0) await pause(pauseMs)
      size += chunk.length
    }
    return size
  }
  try {
    const cutOff = await taken(0).catch((error: unknown) => error)
    expect(isBlobStoreUnavailable(cutOff)).toBe(true)
    said = content.length
    expect(await taken(3 * timeoutMs)).toBe(content.length)
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
])('a range of ten bytes: %s', (header, verdict) => {
  expect(parseByteRange(header, 10)).toEqual(verdict)
})
