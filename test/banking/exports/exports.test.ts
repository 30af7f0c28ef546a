import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExports } from '../../../src/banking/exports/index.ts'
import {
  beginRun,
  completeRun,
  exportById,
  failRun,
  listExports,
  recordProgress,
} from '../../../src/banking/exports/store.ts'
import { createSnapshotReader, type Database, inTransaction } from '../../../src/database/index.ts'
import { addMs } from '../../../src/kernel/index.ts'
import type { Ledger } from '../../../src/ledger/index.ts'
import { type Blobs, openBlobs } from '../../../src/platform/blobs/index.ts'
import type { JobFacts } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { callerOf, deployment, noLinks, outgoingOf, transactionOf, words } from '../world.ts'

const facts: JobFacts = { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined }
const wallets = 2
const opening = 40

describe('exports', () => {
  let stores: TestStore[]
  let directory: string
  let blobs: Blobs
  beforeAll(async () => {
    stores = await everyStore()
    directory = await mkdtemp(join(tmpdir(), 'portico-exports-'))
    blobs = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await rm(directory, { recursive: true, force: true })
  })

  const setUp = async ({ database, name }: TestStore) => {
    const journal = await createTestBank(database)
    const workspace = await journal.workspace()
    const from = await journal.wallet('USD', '1000.00', workspace)
    const to = await journal.wallet('USD', '1000.00', workspace)
    for (let count = 1; count < opening; count++) await transfer(journal, from, to)
    const kind = name === 'PGlite' ? 'embedded' : 'postgres'
    const inSnapshot = createSnapshotReader({ database, named: () => database, kind }, journal.clock)
    const settings = { pageSize: 7, lifeMs: 60_000 }
    const ports = { blobs, deployment, clock: journal.clock, ids, words, inSnapshot, settings }
    const createDomain = (ledger: Ledger, store: Database = database) =>
      createExports({ ...ports, database: store, transaction: transactionOf(store), ledger, createLink: noLinks })
    const requestExport = async (type: 'FLOWS' | 'TRANSFERS', filters: object = {}) => {
      const exportId = ids.next<'export'>()
      const request = { exportType: type, format: 'JSONL', filters: JSON.stringify(filters) } as const
      const file = { blobKey: null, fileName: null, rowCount: null, sizeBytes: null, sha256: null }
      const creation = { createdBy: journal.account(), createdAt: new Date(journal.clock.now()) }
      const initial = { runBizId: null, exportStatus: 'QUEUED', failureCode: null } as const
      await database
        .insertInto('exports')
        .values({ bizId: exportId, workspaceBizId: workspace, ...request, ...file, ...creation, ...initial })
        .execute()
      return exportId
    }
    const readState = (exportId: string) =>
      database.selectFrom('exports').selectAll().where('bizId', '=', exportId).executeTakeFirstOrThrow()
    const listUnnamedBlobs = async () => {
      const rows = await database.selectFrom('unnamed_blobs').select('blobKey').execute()
      return rows.map(({ blobKey }) => blobKey)
    }
    const rowsOf = async (exportId: string) => {
      const { blobKey: key } = await readState(exportId)
      const bytes = key === null ? undefined : await blobs.get(key)
      return bytes
        ? (await text(bytes))
            .trimEnd()
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line))
        : []
    }
    return { journal, workspace, from, to, createDomain, requestExport, readState, rowsOf, listUnnamedBlobs }
  }

  const transfer = async (journal: TestBank, source: TestWallet, target: TestWallet): Promise<void> => {
    journal.clock.advance(1)
    const party = { currency: 'USD', active: true, currencyField: 'c' }
    await journal.ledger.execute({
      actor: journal.account(),
      idempotency: {
        account: journal.account(),
        workspace: source.workspace,
        operation: 'test',
        requestId: randomUUID(),
        bodyHash: 'x',
      },
      audit: { portal: 'CONSUMER', action: 'test', requestId: randomUUID(), clientIp: '' },
      parties: [
        { label: 'source', wallet: source.id, workspace: source.workspace, ...party },
        { label: 'target', wallet: target.id, workspace: null, ...party },
      ],
      create: {
        workspace: source.workspace,
        type: 'TRANSFER',
        data: {
          amount: '100',
          currency: 'USD',
          feeAmount: '0',
          remark: null,
          clientReference: null,
          failureCode: null,
        },
        steps: [{ status: 'PROCESSING' }, { status: 'COMPLETED' }],
        outgoing: outgoingOf(100n, callerOf(journal.account()), journal.clock.now()),
      },
      entries: [
        { account: 'source', amount: -100n, flowType: 'TRANSFER' },
        { account: 'target', amount: 100n, flowType: 'TRANSFER' },
      ],
    })
  }

  const withInterruption = ({ ledger, database }: TestBank, between: () => Promise<void>): Ledger => {
    const afterPage = async <T>(page: T): Promise<T> => {
      await between()
      return page
    }
    const wrapped = ledger.within(database)
    wrapped.within = (tx) => {
      const [transactional, pages] = [ledger.within(tx), ledger.within(tx)]
      transactional.readFlows = (query) => pages.readFlows(query).then(afterPage)
      transactional.readOrders = (query) => pages.readOrders(query).then(afterPage)
      return transactional
    }
    return wrapped
  }

  /** The connection fails right after the commit that completes an export. */
  const withLostCommitReply = (database: Database): Database => {
    let isCompleting = false
    const failing = database.withPlugin({
      transformQuery: ({ node }) => {
        isCompleting ||= node.kind === 'UpdateQueryNode' && JSON.stringify(node).includes('completedAt')
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const begin = failing.transaction.bind(failing)
    failing.transaction = () => {
      const beginning = begin()
      const execute = beginning.execute.bind(beginning)
      beginning.execute = async (work) => {
        const result = await execute(work)
        if (isCompleting) throw new Error('the connection broke')
        return result
      }
      return beginning
    }
    return failing
  }

  const run = (kinds: ReturnType<typeof createExports>['jobs'], payload: object, changed: Partial<JobFacts> = {}) => {
    const kind = kinds.find(({ name }) => name === 'exports.run')
    if (!kind) throw new Error('no such job')
    return kind.work(payload, { ...facts, ...changed })
  }

  test('exports.create 200: excludes transfers after its snapshot', async () => {
    for (const store of stores) {
      const { journal, workspace, from, to, createDomain, requestExport, readState, rowsOf } = await setUp(store)
      journal.clock.advance(5)
      const { jobs } = createDomain(withInterruption(journal, () => transfer(journal, from, to)))
      for (const type of ['FLOWS', 'TRANSFERS'] as const) {
        const before = await countRows(journal, workspace, type)
        journal.clock.advance(5)
        const exportId = await requestExport(type)
        await run(jobs, { workspaceId: workspace, exportId })
        const rows = await rowsOf(exportId)
        expect(rows.length, `${store.name} ${type}`).toBe(before)
        expect(new Set(rows.map(({ bizId }) => bizId)).size).toBe(before)
        expect(await readState(exportId)).toMatchObject({ exportStatus: 'COMPLETED', rowCount: before })
        if (type === 'TRANSFERS') continue
        // A snapshot has equal incoming and outgoing flows.
        const moved = rows.filter(({ flowType }) => flowType === 'TRANSFER')
        const count = (direction: string) => moved.filter((row) => row.direction === direction).length
        expect(count('IN')).toBe(count('OUT'))
      }
    }
  })

  test('exports.read 200: reports the number of rows while RUNNING', async () => {
    for (const store of stores) {
      const { journal, workspace, createDomain, requestExport, readState } = await setUp(store)
      journal.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const progress: number[] = []
      const between = async () => {
        journal.clock.advance(300)
        const { exportStatus: status, rowCount: rows } = await readState(exportId)
        if (status === 'RUNNING') progress.push(rows ?? -1)
      }
      const { jobs } = createDomain(withInterruption(journal, between))
      await run(jobs, { workspaceId: workspace, exportId })
      expect(progress.slice(0, 3), store.name).toEqual([0, 1, 8])
      expect(progress.length).toBeGreaterThan(4)
      expect([...new Set(progress), opening - 1]).toEqual([...progress, opening - 1].toSorted((a, b) => a - b))
    }
  })

  test('exports.run: a second attempt starts over; a stale first attempt changes nothing', async () => {
    for (const store of stores) {
      const { journal, workspace, createDomain, requestExport, readState, rowsOf } = await setUp(store)
      journal.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const reached = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      const slow = createDomain(
        withInterruption(journal, () => {
          reached.resolve()
          return gate.promise
        }),
      )
      // The attempt loses its lease while it reads rows.
      const stale = run(slow.jobs, { workspaceId: workspace, exportId })
      await reached.promise
      expect(await readState(exportId)).toMatchObject({ exportStatus: 'RUNNING', rowCount: 0 })
      const { jobs } = createDomain(journal.ledger)
      await run(jobs, { workspaceId: workspace, exportId }, { attempt: 2 })
      const completed = await readState(exportId)
      expect(completed).toMatchObject({ exportStatus: 'COMPLETED', rowCount: opening - 1 })
      gate.resolve()
      await stale.catch(() => undefined)
      expect(await readState(exportId)).toEqual(completed)
      expect(await rowsOf(exportId)).toHaveLength(opening - 1)
      await run(jobs, { workspaceId: workspace, exportId }, { attempt: 3 })
      expect(await readState(exportId)).toEqual(completed)
    }
  })

  test('exports.run: a stale attempt writes nothing while a later one runs', async () => {
    for (const store of stores) {
      const { database } = store
      const { journal, workspace: workspaceId, requestExport, readState } = await setUp(store)
      const exportId = await requestExport('FLOWS')
      const stale = { workspaceId, exportId, runId: ids.next<'run'>() }
      const current = { workspaceId, exportId, runId: ids.next<'run'>() }
      for (const each of [stale, current]) expect(await beginRun(database, each)).toBeDefined()
      const at = journal.clock.now()
      const file = { blobKey: `exports/${randomUUID()}`, fileName: 'late.csv', rowCount: 1, sizeBytes: 1, sha256: '00' }
      expect(await recordProgress(database, stale, 1)).toBe(false)
      expect(
        await inTransaction(database, (tx) => completeRun(tx, stale, { ...file, at, expiresAt: addMs(at, 1_000) })),
      ).toBe(false)
      await failRun(database, stale, 'SYSTEM.INTERNAL_ERROR')
      expect(await readState(exportId)).toMatchObject({ exportStatus: 'RUNNING', rowCount: 0, blobKey: null })
      expect(await recordProgress(database, current, 1)).toBe(true)
    }
  })

  test('exports.run: an attempt cannot change a completed export', async () => {
    for (const store of stores) {
      const { database } = store
      const { journal, workspace: workspaceId, requestExport, readState } = await setUp(store)
      const exportId = await requestExport('FLOWS')
      const run = { workspaceId, exportId, runId: ids.next<'run'>() }
      expect(await beginRun(database, run)).toBeDefined()
      const at = journal.clock.now()
      const file = { blobKey: `exports/${randomUUID()}`, fileName: 'once.csv', rowCount: 1, sizeBytes: 1, sha256: '00' }
      expect(
        await inTransaction(database, (tx) => completeRun(tx, run, { ...file, at, expiresAt: addMs(at, 1_000) })),
      ).toBe(true)
      const completed = await readState(exportId)
      expect(await recordProgress(database, run, 2)).toBe(false)
      expect(
        await inTransaction(database, (tx) => completeRun(tx, run, { ...file, at, expiresAt: addMs(at, 2_000) })),
      ).toBe(false)
      await failRun(database, run, 'SYSTEM.INTERNAL_ERROR')
      expect(await readState(exportId)).toEqual(completed)
    }
  })

  test('exports.run: retains the bytes if the reply to the commit is lost', async () => {
    for (const store of stores) {
      const { journal, workspace, createDomain, requestExport, readState, rowsOf, listUnnamedBlobs } =
        await setUp(store)
      await store.database.deleteFrom('unnamed_blobs').execute()
      journal.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const payload = { workspaceId: workspace, exportId }
      const { jobs } = createDomain(journal.ledger, withLostCommitReply(store.database))
      await expect(run(jobs, payload)).rejects.toThrow('the connection broke')
      await jobs[0]?.abandon?.(payload)
      expect(await readState(exportId)).toMatchObject({ exportStatus: 'COMPLETED', rowCount: opening - 1 })
      expect(await rowsOf(exportId)).toHaveLength(opening - 1)
      expect(await listUnnamedBlobs()).toEqual([])
    }
  })

  test('exports.read and exports.list 200: EXPIRED from the instant of expiry, before any sweep', async () => {
    for (const { database, ...store } of stores) {
      const { journal, workspace, createDomain, requestExport, readState } = await setUp({ database, ...store })
      const exportId = await requestExport('TRANSFERS')
      await run(createDomain(journal.ledger).jobs, { workspaceId: workspace, exportId })
      const end = (await readState(exportId)).expiresAt ?? expect.fail()
      const paging = { currentPage: 1, pageSize: 1, sortBy: 'createdAt', sortOrder: 'asc' } as const
      for (const [at, status] of [
        [addMs(end, -1), 'COMPLETED'],
        [end, 'EXPIRED'],
      ] as const) {
        const viewer = { workspace, account: journal.account(), at }
        expect((await exportById(database, viewer, exportId))?.exportStatus).toBe(status)
        const { items } = await listExports(database, viewer, { ...paging, status })
        expect(items).toMatchObject([{ bizId: exportId, exportStatus: status }])
      }
    }
  })

  test('exports.sweep: deletes the bytes of expired exports and of a reset sandbox', async () => {
    for (const store of stores) {
      const {
        journal,
        workspace: workspaceId,
        createDomain,
        requestExport,
        readState,
        listUnnamedBlobs,
      } = await setUp(store)
      await store.database.deleteFrom('unnamed_blobs').execute()
      const { jobs, clean } = createDomain(journal.ledger)
      const sweep = () => jobs.find(({ name }) => name === 'exports.sweep')?.work({}, facts)
      const createFile = async (): Promise<string> => {
        const exportId = await requestExport('TRANSFERS')
        await run(jobs, { workspaceId, exportId })
        return (await readState(exportId)).blobKey ?? ''
      }
      const isThere = async (key: string) => (await blobs.get(key))?.destroy() !== undefined
      const expired = await createFile()
      journal.clock.advance(60_000)
      const [current, second] = [await createFile(), await createFile()]
      await sweep()
      expect([await isThere(expired), await listUnnamedBlobs()]).toEqual([false, []])
      expect([await isThere(current), await isThere(second)]).toEqual([true, true])
      await inTransaction(store.database, (tx) => clean(tx, { workspaceId, at: journal.clock.now() }))
      expect((await listUnnamedBlobs()).sort()).toEqual([current, second].sort())
      await sweep()
      expect([await isThere(current), await isThere(second), await listUnnamedBlobs()]).toEqual([false, false, []])
    }
  })

  test('exports.read 200: RUNNING after a failed attempt, FAILED after the last one', async () => {
    for (const store of stores) {
      const { journal, workspace, createDomain, requestExport, readState } = await setUp(store)
      const { jobs } = createDomain(withInterruption(journal, () => Promise.reject(new Error('store unavailable'))))
      const exportId = await requestExport('TRANSFERS')
      const payload = { workspaceId: workspace, exportId }
      await expect(run(jobs, payload)).rejects.toThrow('store unavailable')
      expect(await readState(exportId)).toMatchObject({ exportStatus: 'RUNNING' })
      await jobs[0]?.abandon?.(payload)
      expect(await readState(exportId)).toMatchObject({
        exportStatus: 'FAILED',
        failureCode: 'SYSTEM.INTERNAL_ERROR',
      })
    }
  })

  test('exports.run: abandoning fails a queued export and leaves a completed one', async () => {
    for (const store of stores) {
      const { journal, workspace, createDomain, requestExport, readState } = await setUp(store)
      const { jobs } = createDomain(journal.ledger)
      const abandon = async (exportId: string) => jobs[0]?.abandon?.({ workspaceId: workspace, exportId })
      const failing = await requestExport('TRANSFERS')
      await abandon(failing)
      expect(await readState(failing)).toMatchObject({ exportStatus: 'FAILED', failureCode: 'SYSTEM.INTERNAL_ERROR' })
      const completing = await requestExport('TRANSFERS')
      await run(jobs, { workspaceId: workspace, exportId: completing })
      const completed = await readState(completing)
      await abandon(completing)
      expect(await readState(completing)).toEqual(completed)
    }
  })

  const countRows = async (journal: TestBank, workspace: TestWallet['workspace'], type: 'FLOWS' | 'TRANSFERS') => {
    if (type === 'TRANSFERS') {
      const query = { type: 'TRANSFER', workspace, sortBy: 'createdAt', sortOrder: 'asc' } as const
      return (await journal.ledger.listOrders({ ...query, currentPage: 1, pageSize: 1 })).pagination.totalRecords
    }
    let total = 0
    const all = await journal.ledger.listWallets(workspace)
    expect(all).toHaveLength(wallets)
    for (const { bizId: wallet } of all) {
      const page = { currentPage: 1, pageSize: 1, sortOrder: 'asc' } as const
      total += (await journal.ledger.listFlows({ ...page, wallet, workspace })).pagination.totalRecords
    }
    return total
  }
})
