import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExports, exportAttempts } from '../../../src/banking/exports/index.ts'
import { createExport, readExport } from '../../../src/banking/exports/service.ts'
import { createSnapshotReader } from '../../../src/database/index.ts'
import { type Blobs, openBlobs } from '../../../src/platform/blobs/index.ts'
import { createJobRunner } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { loadSettings } from '../../harness/settings.ts'
import { testDatabase } from '../../identity/database.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { deployment, noLinks, transactionOf, words } from '../world.ts'

const settings = loadSettings({})
const minute = 60_000

let store: Awaited<ReturnType<typeof testDatabase>>
let directory: string
beforeAll(async () => {
  store = await testDatabase()
  directory = await mkdtemp(join(tmpdir(), 'portico-exports-'))
})
afterAll(async () => {
  await store?.close()
  await rm(directory, { recursive: true, force: true })
})

/** Uses the default settings. */
async function runExportDuring(outageMs: number): Promise<{ status: string; tries: number }> {
  const { database } = store
  await database.deleteFrom('jobs').execute()
  const { clock, ledger, workspace, account } = await createTestBank(database)
  const end = clock.now() + outageMs
  const stored = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
  let tries = 0
  const blobs: Blobs = {
    put: (key, bytes) => {
      tries += 1
      if (clock.now() >= end) return stored.put(key, bytes)
      bytes.resume()
      return Promise.reject(new Error('blob store unavailable'))
    },
    get: (key, range) => stored.get(key, range),
    delete: (key) => stored.delete(key),
    check: () => stored.check(),
    close: () => stored.close(),
  }
  const ports = {
    database,
    transaction: transactionOf(database),
    clock,
    ids,
    blobs,
    inSnapshot: createSnapshotReader({ database, named: () => database, kind: 'embedded' }, clock),
  }
  const { jobs } = createExports({
    ...ports,
    deployment,
    ledger,
    words,
    createLink: noLinks,
    settings: settings.exports,
  })
  const runner = createJobRunner({
    ...ports,
    kinds: jobs,
    settings: {},
    onFailure: () => undefined,
    onDropped: () => undefined,
  })

  const [id, accountId, at] = [await workspace(), account(), clock.now()]
  const facts = {
    portal: 'CONSUMER',
    operationId: 'exports.create',
    requestId: 'r',
    clientIp: '',
    apiKeyId: null,
  } as const
  const access = { id, isOwner: true, permissions: new Set(['transfer:read'] as const) }
  const input = { exportType: 'TRANSFERS', format: 'CSV', filters: {} } as const
  const created = await createExport(ports, input, { auditContext: { ...facts, accountId, at }, access })
  const statusNow = async () =>
    (await readExport(ports, { workspace: id, account: accountId, at: clock.now() }, created.bizId)).exportStatus
  let status = await statusNow()
  const step = outageMs / 100
  for (let elapsed = 0; elapsed < 60 * minute && status !== 'COMPLETED' && status !== 'FAILED'; elapsed += step) {
    while (await runner.runOne());
    clock.advance(step)
    status = await statusNow()
  }
  return { status, tries }
}

test.each([
  ['ten seconds', 10_000],
  ['five minutes', 5 * minute],
])('exports.read 200: COMPLETED after an outage of the blob store of %s', async (_, outageMs) => {
  expect(await runExportDuring(outageMs)).toMatchObject({ status: 'COMPLETED' })
})

test('exports.read 200: FAILED after the configured attempts in an outage of half an hour', async () => {
  expect(await runExportDuring(30 * minute)).toEqual({ status: 'FAILED', tries: exportAttempts })
})
