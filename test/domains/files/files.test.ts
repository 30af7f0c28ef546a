import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { createFiles } from '../../../src/domains/files/index.ts'
import { readForm } from '../../../src/domains/files/multipart-form.ts'
import { uploadFile } from '../../../src/domains/files/service.ts'
import { Refusal, type Upload } from '../../../src/kernel/index.ts'
import type { AuditContext } from '../../../src/platform/audit/index.ts'
import { type Blobs, openBlobs } from '../../../src/platform/blobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { formOf } from '../../harness/form.ts'
import { testDatabase } from '../../identity/database.ts'
import { createTestBank, type TestBank } from '../../ledger/test-bank.ts'
import { refusalOf, words } from '../world.ts'

const hour = 3_600_000
const purposes = {
  RECHARGE_PROOF: { maxBytes: 1_000, types: ['text/plain'] },
  DOCUMENT: { maxBytes: 1_000, types: ['text/plain'] },
  AVATAR: { maxBytes: 1_000, types: ['image/png'] },
}
const settings = { purposes, orphanAfterMs: hour, sweepEveryMs: 1_000 }

const formFor = (purpose: string): Upload => {
  const { headers, body } = formOf([
    { name: 'file', content: 'what it says', fileName: 'a.txt', type: 'text/plain' },
    { name: 'purpose', content: purpose },
  ])
  return { contentType: headers['content-type'], bytes: Readable.from([Buffer.from(body)]) }
}

describe('the bytes of an upload', () => {
  let store: Awaited<ReturnType<typeof testDatabase>>
  let directory: string
  let blobs: Blobs
  let book: TestBank
  beforeAll(async () => {
    store = await testDatabase()
    directory = await mkdtemp(join(tmpdir(), 'portico-files-'))
    blobs = await openBlobs({ kind: 'disk' }, directory)
    book = await createTestBank(store.database)
  })
  afterAll(async () => {
    await store.close()
    await rm(directory, { recursive: true, force: true })
  })
  beforeEach(() => store.database.deleteFrom('unnamed_blobs').execute())

  const portsOf = (over: Partial<{ blobs: Blobs }> = {}) => ({ database: store.database, ids, blobs, ...over })
  const actNow = (): AuditContext => ({
    portal: 'CONSUMER',
    accountId: book.account(),
    apiKeyId: null,
    operationId: 'files.upload',
    requestId: 'r',
    clientIp: '',
    at: book.clock.now(),
  })
  const send = async (workspace: Awaited<ReturnType<TestBank['workspace']>>, purpose = 'DOCUMENT', over = {}) =>
    uploadFile(
      { ...portsOf(over), purposes, orphanAfterMs: hour },
      { workspaceId: workspace, form: formFor(purpose) },
      actNow(),
    )
  const files = () => createFiles({ ...portsOf(), clock: book.clock, words, settings })
  const sweep = () => files().jobs[0]?.work(null, { jobId: '', attempt: 1, signal: new AbortController().signal })
  const isThere = async (key: string) => (await blobs.get(key))?.destroy() !== undefined
  const unnamed = async () =>
    (await store.database.selectFrom('unnamed_blobs').select('blob_key').execute()).map(({ blob_key }) => blob_key)

  test('are named by its row, and stay; those of a workspace that is emptied go with the next sweep', async () => {
    const [workspace, neighbour] = [await book.workspace(), await book.workspace()]
    const [mine, theirs] = [await send(workspace), await send(neighbour)]
    expect(await unnamed()).toEqual([])
    book.clock.advance(2 * hour)
    await sweep()
    expect([await isThere(mine.blobKey), await isThere(theirs.blobKey)]).toEqual([true, true])
    const emptying = { workspaceId: workspace, at: book.clock.now() }
    await inTransaction(store.database, (tx) => files().clean(tx, emptying))
    await sweep()
    expect([await isThere(mine.blobKey), await isThere(theirs.blobKey), await unnamed()]).toEqual([false, true, []])
  })

  test('go after their time where the process ended before any row named them', async () => {
    const put: string[] = []
    const dying: Blobs = {
      ...blobs,
      put: async (key, source) => {
        await blobs.put(key, source)
        put.push(key)
        throw new Error('the process ended')
      },
    }
    await expect(send(await book.workspace(), 'DOCUMENT', { blobs: dying })).rejects.toThrow('the process ended')
    const [key = ''] = put
    expect([await isThere(key), await unnamed()]).toEqual([true, [key]])
    book.clock.advance(hour - 1)
    await sweep()
    expect(await isThere(key)).toBe(true)
    book.clock.advance(1)
    await sweep()
    expect([await isThere(key), await unnamed()]).toEqual([false, []])
  })

  test('that were swept before a row could name them make no row: SYSTEM.UNAVAILABLE', async () => {
    const workspace = await book.workspace()
    const slow: Blobs = {
      ...blobs,
      put: async (key, source) => {
        await blobs.put(key, source)
        book.clock.advance(hour)
        await sweep()
      },
    }
    expect(await refusalOf(send(workspace, 'DOCUMENT', { blobs: slow }))).toBe('SYSTEM.UNAVAILABLE')
    const rows = await store.database
      .selectFrom('files')
      .where('workspace_biz_id', '=', workspace)
      .selectAll()
      .execute()
    expect(rows).toEqual([])
  })

  test('of a refused upload are gone at once', async () => {
    const put: string[] = []
    const watched: Blobs = {
      ...blobs,
      put: (key, source) => {
        put.push(key)
        return blobs.put(key, source)
      },
    }
    expect(await refusalOf(send(await book.workspace(), 'AVATAR', { blobs: watched }))).not.toBe('none')
    expect(await isThere(put[0] ?? '')).toBe(false)
  })

  test('of a refused upload are the sweep’s where the store cannot be reached, and the refusal stays what it is', async () => {
    const [workspace, put] = [await book.workspace(), [] as string[]]
    const failing: Blobs = {
      ...blobs,
      put: (key, source) => {
        put.push(key)
        return blobs.put(key, source)
      },
      delete: () => Promise.reject(new Error('the files cannot be reached')),
    }
    const refused = await refusalOf(send(workspace, 'AVATAR'))
    expect(await refusalOf(send(workspace, 'AVATAR', { blobs: failing }))).toBe(refused)
    expect(await unnamed()).toContain(put[0])
  })
})

test('a form whose client went away before anybody listened is refused at once, for the reason there is', async () => {
  const gone = (error?: Error): Upload => {
    const bytes = new Readable({ read: () => undefined }).on('error', () => undefined)
    bytes.destroy(error)
    return { contentType: 'multipart/form-data; boundary=b', bytes }
  }
  const reading = (form: Upload) => refusalOf(readForm(form, 1_000, async () => 'taken'))
  for (const settle of [false, true]) {
    const [broken, late] = [gone(), gone(new Refusal('REQUEST.TIMEOUT'))]
    if (settle) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await reading(broken)).toBe('REQUEST.MALFORMED')
    expect(await reading(late)).toBe('REQUEST.TIMEOUT')
  }
})
