import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFiles, type FilesOptions } from '../../../src/banking/files/index.ts'
import { exceededPart } from '../../../src/banking/files/rules.ts'
import { deleteFile, findFile, uploadFile } from '../../../src/banking/files/service.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { type AccountId, days, hours, Refusal, type WorkspaceId } from '../../../src/kernel/index.ts'
import type { AuditContext } from '../../../src/platform/audit/index.ts'
import { type Blobs, openBlobs } from '../../../src/platform/blobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { encodeMultipart } from '../../harness/multipart.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank } from '../../ledger/test-bank.ts'
import { deployment, noLinks, refusalOf, transactionOf, words } from '../world.ts'

const rule = { maxBytes: 1_000, types: ['text/plain'] }
const purposes = { RECHARGE_PROOF: rule, DOCUMENT: rule, AVATAR: rule }
const large = { filesPerDay: 1_000, bytesPerDay: 1_000_000, files: 1_000, bytes: 1_000_000 }
const size = 10

test.each([
  [{ files: 2, bytes: 20, filesToday: 1, bytesToday: 10 }, null],
  [{ files: 2, bytes: 20, filesToday: 2, bytesToday: 10 }, 'day'],
  [{ files: 2, bytes: 20, filesToday: 1, bytesToday: 11 }, 'day'],
  [{ files: 3, bytes: 20, filesToday: 2, bytesToday: 10 }, 'total'],
  [{ files: 2, bytes: 21, filesToday: 1, bytesToday: 10 }, 'total'],
])('exceededPart: %j exceeds %s', (usage, expected) => {
  expect(exceededPart(usage, { filesPerDay: 1, bytesPerDay: 10, files: 2, bytes: 20 })).toBe(expected)
})

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('upload quotas on $name', ({ database }: TestStore) => {
  let directory: string
  let blobs: Blobs
  let bank: TestBank
  let account: AccountId
  let workspace: WorkspaceId
  let quotas: FilesOptions['settings']['quotas']
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'portico-quotas-'))
    blobs = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
    bank = await createTestBank(database)
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))
  beforeEach(async () => {
    account = bank.account()
    workspace = await bank.workspace()
    quotas = { account: { ...large }, workspace: { ...large } }
  })

  const ports = () => ({
    database,
    transaction: transactionOf(database),
    ids,
    blobs,
    deployment,
    purposes,
    quotas,
    orphanAfterMs: hours(1),
  })
  const files = () => {
    const settings = { purposes, quotas, orphanAfterMs: hours(1) }
    return createFiles({
      database,
      transaction: transactionOf(database),
      ids,
      blobs,
      deployment,
      createLink: noLinks,
      clock: bank.clock,
      words,
      settings,
    })
  }
  const actAs = (accountId: AccountId): AuditContext => ({
    portal: 'CONSUMER',
    accountId,
    apiKeyId: null,
    operationId: 'files.upload',
    requestId: 'r',
    clientIp: '',
    at: bank.clock.now(),
  })
  const upload = (by = account, into = workspace) => {
    const { headers, body } = encodeMultipart([
      { name: 'purpose', content: 'DOCUMENT' },
      { name: 'file', content: 'plain text', fileName: 'a.txt', type: 'text/plain' },
    ])
    const form = { contentType: headers['content-type'], bytes: Readable.from([Buffer.from(body)]) }
    return uploadFile(ports(), { workspaceId: into, form }, actAs(by))
  }
  const remove = (fileId: string) => deleteFile(ports(), workspace, fileId, actAs(account))
  const keep = (fileId: string) => inTransaction(database, (tx) => files().keepAsProof(tx, workspace, fileId))
  const countStored = async () =>
    (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length

  test('files.upload 429 ACCESS.RATE_LIMITED: files per day of an account, over all workspaces', async () => {
    quotas.account.filesPerDay = 2
    await upload()
    await upload(account, await bank.workspace())
    const refused: unknown = await upload().catch((error) => error)
    if (!(refused instanceof Refusal)) throw new Error('not refused')
    expect([refused.code, refused.detail.limit?.name]).toEqual(['ACCESS.RATE_LIMITED', 'files-of-account'])
    const untilMidnight = days(1) - (bank.clock.now() % days(1))
    expect(refused.detail.retryAfter).toBe(Math.ceil(untilMidnight / 1_000))
    await upload(bank.account())
    bank.clock.advance(untilMidnight)
    await upload()
  })

  test('files.upload 429 ACCESS.RATE_LIMITED: bytes per day of a workspace, deleted files included', async () => {
    quotas.workspace.bytesPerDay = 2 * size
    await remove((await upload()).bizId)
    await upload(bank.account())
    expect(await refusalOf(upload())).toBe('ACCESS.RATE_LIMITED')
    await upload(account, await bank.workspace())
  })

  test.each([
    ['account', 'files', 2],
    ['workspace', 'bytes', 2 * size],
  ] as const)(
    'files.upload 422 FILE.QUOTA_EXCEEDED: stored %s %s, until one is deleted',
    async (scope, what, limit) => {
      quotas[scope][what] = limit
      const [first] = [await upload(), await upload()]
      expect(await refusalOf(upload())).toBe('FILE.QUOTA_EXCEEDED')
      bank.clock.advance(days(1))
      expect(await refusalOf(upload())).toBe('FILE.QUOTA_EXCEEDED')
      await remove(first.bizId)
      await upload()
    },
  )

  test('files.upload 422 FILE.QUOTA_EXCEEDED: parallel uploads do not exceed a quota, and leave no bytes', async () => {
    quotas.account.files = 3
    const before = await countStored()
    const done = await Promise.allSettled(Array.from({ length: 8 }, () => upload()))
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(await countStored()).toBe(before + 3)
  })

  test('files.delete 200: the file is gone, and its bytes with the next sweep; 404 again', async () => {
    const { bizId: id, blobKey } = await upload()
    await remove(id)
    expect(await findFile(database, workspace, id)).toBeUndefined()
    expect(await refusalOf(remove(id))).toBe('RESOURCE.NOT_FOUND')
    await files().jobs[0]?.work(null, {
      jobId: '',
      attempt: 1,
      signal: new AbortController().signal,
      drop: () => undefined,
    })
    expect(await blobs.get(blobKey)).toBeUndefined()
    const rows = await database.selectFrom('audit_log').select('action').where('targetBizId', '=', id).execute()
    expect(rows).toHaveLength(2)
  })

  test('files.delete 404 RESOURCE.NOT_FOUND: a file of another workspace', async () => {
    const { bizId: id } = await upload(account, await bank.workspace())
    expect(await refusalOf(remove(id))).toBe('RESOURCE.NOT_FOUND')
  })

  test('files.delete 409 STATE.CONFLICT: a file that was submitted as a proof', async () => {
    const { bizId: id } = await upload()
    expect(await keep(id)).toMatchObject({ sizeBytes: size })
    expect(await refusalOf(remove(id))).toBe('STATE.CONFLICT')
    const other = await upload()
    await remove(other.bizId)
    expect(await keep(other.bizId)).toBeUndefined()
  })

  test('a sandbox reset frees the quotas of its account and workspace', async () => {
    quotas.account.files = 1
    await upload()
    expect(await refusalOf(upload())).toBe('FILE.QUOTA_EXCEEDED')
    await inTransaction(database, (tx) => files().clean(tx, { workspaceId: workspace, at: bank.clock.now() }))
    await upload()
  })
})
