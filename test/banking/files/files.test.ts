import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFiles } from '../../../src/banking/files/index.ts'
import { uploadFile } from '../../../src/banking/files/service.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { Refusal, type Upload } from '../../../src/kernel/index.ts'
import type { AuditContext } from '../../../src/platform/audit/index.ts'
import { type Blobs, openBlobs, readForm } from '../../../src/platform/blobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { encodeMultipart } from '../../harness/multipart.ts'
import { testDatabase } from '../../identity/database.ts'
import { createTestBank, type TestBank } from '../../ledger/test-bank.ts'
import { deployment, noLinks, refusalOf, transactionOf, words } from '../world.ts'

const hour = 3_600_000
const purposes = {
  RECHARGE_PROOF: { maxBytes: 1_000, types: ['text/plain'] },
  DOCUMENT: { maxBytes: 1_000, types: ['text/plain'] },
  AVATAR: { maxBytes: 1_000, types: ['image/png'] },
}
const large = { filesPerDay: 1_000, bytesPerDay: 1_000_000, files: 1_000, bytes: 1_000_000 }
const quotas = { account: large, workspace: large }
const settings = { purposes, quotas, orphanAfterMs: hour }

function formFor(purpose: string): Upload {
  const { headers, body } = encodeMultipart([
    { name: 'file', content: 'plain text', fileName: 'a.txt', type: 'text/plain' },
    { name: 'purpose', content: purpose },
  ])
  return { contentType: headers['content-type'], bytes: Readable.from([Buffer.from(body)]) }
}

describe('uploads', () => {
  let store: Awaited<ReturnType<typeof testDatabase>>
  let directory: string
  let blobs: Blobs
  let journal: TestBank
  beforeAll(async () => {
    store = await testDatabase()
    directory = await mkdtemp(join(tmpdir(), 'portico-files-'))
    blobs = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
    journal = await createTestBank(store.database)
  })
  afterAll(async () => {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  })
  beforeEach(() => store.database.deleteFrom('unnamed_blobs').execute())

  const portsOf = (changes: Partial<{ blobs: Blobs }> = {}) => ({
    database: store.database,
    transaction: transactionOf(store.database),
    ids,
    blobs,
    deployment,
    ...changes,
  })
  const actNow = (): AuditContext => ({
    portal: 'CONSUMER',
    accountId: journal.account(),
    apiKeyId: null,
    operationId: 'files.upload',
    requestId: 'r',
    clientIp: '',
    at: journal.clock.now(),
  })
  const upload = async (workspace: Awaited<ReturnType<TestBank['workspace']>>, purpose = 'DOCUMENT', changes = {}) =>
    uploadFile(
      { ...portsOf(changes), purposes, quotas, orphanAfterMs: hour },
      { workspaceId: workspace, form: formFor(purpose) },
      actNow(),
    )
  const files = () => createFiles({ ...portsOf(), clock: journal.clock, words, createLink: noLinks, settings })
  const sweep = () =>
    files().jobs[0]?.work(null, { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined })
  const isThere = async (key: string) => (await blobs.get(key))?.destroy() !== undefined
  const listUnnamedBlobs = async () =>
    (await store.database.selectFrom('unnamed_blobs').select('blobKey').execute()).map(({ blobKey }) => blobKey)

  test('files.sweep: keeps bytes with a row, deletes those of a reset sandbox', async () => {
    const [workspace, neighbour] = [await journal.workspace(), await journal.workspace()]
    const [mine, theirs] = [await upload(workspace), await upload(neighbour)]
    expect(await listUnnamedBlobs()).toEqual([])
    journal.clock.advance(2 * hour)
    await sweep()
    expect([await isThere(mine.blobKey), await isThere(theirs.blobKey)]).toEqual([true, true])
    const reset = { workspaceId: workspace, at: journal.clock.now() }
    await inTransaction(store.database, (tx) => files().clean(tx, reset))
    await sweep()
    expect([await isThere(mine.blobKey), await isThere(theirs.blobKey), await listUnnamedBlobs()]).toEqual([
      false,
      true,
      [],
    ])
  })

  test('files.sweep: deletes bytes without a row after their retention', async () => {
    const put: string[] = []
    const crashing: Blobs = {
      ...blobs,
      put: async (key, source) => {
        await blobs.put(key, source)
        put.push(key)
        throw new Error('the process ended')
      },
    }
    await expect(upload(await journal.workspace(), 'DOCUMENT', { blobs: crashing })).rejects.toThrow(
      'the process ended',
    )
    const [key = ''] = put
    expect([await isThere(key), await listUnnamedBlobs()]).toEqual([true, [key]])
    journal.clock.advance(hour - 1)
    await sweep()
    expect(await isThere(key)).toBe(true)
    journal.clock.advance(1)
    await sweep()
    expect([await isThere(key), await listUnnamedBlobs()]).toEqual([false, []])
  })

  test('files.upload 503 SYSTEM.UNAVAILABLE: no row if the sweep has deleted the bytes', async () => {
    const workspace = await journal.workspace()
    const slow: Blobs = {
      ...blobs,
      put: async (key, source) => {
        await blobs.put(key, source)
        journal.clock.advance(hour)
        await sweep()
      },
    }
    expect(await refusalOf(upload(workspace, 'DOCUMENT', { blobs: slow }))).toBe('SYSTEM.UNAVAILABLE')
    const rows = await store.database.selectFrom('files').where('workspaceBizId', '=', workspace).selectAll().execute()
    expect(rows).toEqual([])
  })

  test('files.upload 400: deletes the bytes of a refused upload', async () => {
    const put: string[] = []
    const recording: Blobs = {
      ...blobs,
      put: (key, source) => {
        put.push(key)
        return blobs.put(key, source)
      },
    }
    expect(await refusalOf(upload(await journal.workspace(), 'AVATAR', { blobs: recording }))).not.toBe('none')
    expect(await isThere(put[0] ?? '')).toBe(false)
  })

  test('files.upload 400: same refusal if deleting the bytes fails; the sweep deletes them', async () => {
    const [workspace, put] = [await journal.workspace(), [] as string[]]
    const failing: Blobs = {
      ...blobs,
      put: (key, source) => {
        put.push(key)
        return blobs.put(key, source)
      },
      delete: () => Promise.reject(new Error('blob store unavailable')),
    }
    const refused = await refusalOf(upload(workspace, 'AVATAR'))
    expect(await refusalOf(upload(workspace, 'AVATAR', { blobs: failing }))).toBe(refused)
    expect(await listUnnamedBlobs()).toContain(put[0])
  })
})

test('readForm: refuses an upload that was interrupted before parsing, with its cause', async () => {
  const interrupted = (error?: Error): Upload => {
    const bytes = new Readable({ read: () => undefined }).on('error', () => undefined)
    bytes.destroy(error)
    return { contentType: 'multipart/form-data; boundary=b', bytes }
  }
  const read = (form: Upload) =>
    refusalOf(readForm(form, { maxBytes: 1_000, fields: ['purpose'] }, async () => 'received'))
  for (const settle of [false, true]) {
    const [broken, timedOut] = [interrupted(), interrupted(new Refusal('REQUEST.TIMEOUT'))]
    if (settle) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await read(broken)).toBe('REQUEST.MALFORMED')
    expect(await read(timedOut)).toBe('REQUEST.TIMEOUT')
  }
})
