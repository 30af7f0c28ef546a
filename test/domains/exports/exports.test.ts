import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSnapshotReader, type Database, inTransaction } from '../../../src/database/index.ts'
import { createExports } from '../../../src/domains/exports/index.ts'
import {
  beginRun,
  completeRun,
  exportById,
  failRun,
  listExports,
  recordProgress,
} from '../../../src/domains/exports/store.ts'
import { addMs } from '../../../src/kernel/index.ts'
import type { Ledger } from '../../../src/ledger/index.ts'
import { type Blobs, openBlobs } from '../../../src/platform/blobs/index.ts'
import type { JobFacts } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { words } from '../world.ts'

const facts: JobFacts = { jobId: '', attempt: 1, signal: new AbortController().signal }
const wallets = 2
const opening = 40

describe('an export over one snapshot', () => {
  let stores: TestStore[]
  let directory: string
  let blobs: Blobs
  beforeAll(async () => {
    stores = await everyStore()
    directory = await mkdtemp(join(tmpdir(), 'portico-exports-'))
    blobs = await openBlobs({ kind: 'disk' }, directory)
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await rm(directory, { recursive: true, force: true })
  })

  const setUp = async ({ database, name }: TestStore) => {
    const book = await createTestBank(database)
    const workspace = await book.workspace()
    const from = await book.wallet('USD', '1000.00', workspace)
    const to = await book.wallet('USD', '1000.00', workspace)
    for (let count = 1; count < opening; count++) await transfer(book, from, to)
    const kind = name === 'PGlite' ? 'embedded' : 'postgres'
    const inSnapshot = createSnapshotReader({ database, kind }, book.clock)
    const settings = { pageSize: 7, lifeMs: 60_000, attempts: 2, sweepEveryMs: 1_000 }
    const ports = { database, blobs, clock: book.clock, ids, words, inSnapshot, settings }
    const createDomain = (ledger: Ledger, store: Database = database) =>
      createExports({ ...ports, database: store, ledger })
    const requestExport = async (type: 'FLOWS' | 'TRANSFERS', filters: object = {}) => {
      const exportId = ids.next<'export'>()
      const request = { export_type: type, format: 'JSONL', filters: JSON.stringify(filters) } as const
      const file = { blob_key: null, file_name: null, row_count: null, size_bytes: null, sha256: null }
      const creation = { created_by: book.account(), created_at: new Date(book.clock.now()) }
      const initial = { run_biz_id: null, export_status: 'QUEUED', failure_code: null } as const
      await database
        .insertInto('exports')
        .values({ biz_id: exportId, workspace_biz_id: workspace, ...request, ...file, ...creation, ...initial })
        .execute()
      return exportId
    }
    const readState = (exportId: string) =>
      database.selectFrom('exports').selectAll().where('biz_id', '=', exportId).executeTakeFirstOrThrow()
    const listUnnamedBlobs = async () => {
      const rows = await database.selectFrom('unnamed_blobs').select('blob_key').execute()
      return rows.map(({ blob_key }) => blob_key)
    }
    const rowsOf = async (exportId: string) => {
      const { blob_key: key } = await readState(exportId)
      const bytes = key === null ? undefined : await blobs.get(key)
      return bytes
        ? (await text(bytes))
            .trimEnd()
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line))
        : []
    }
    return { book, workspace, from, to, createDomain, requestExport, readState, rowsOf, listUnnamedBlobs }
  }

  const transfer = async (book: TestBank, source: TestWallet, target: TestWallet): Promise<void> => {
    book.clock.advance(1)
    const party = { currency: 'USD', active: true, currencyField: 'c' }
    await book.ledger.execute({
      actor: book.account(),
      idempotency: {
        account: book.account(),
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
      },
      entries: [
        { account: 'source', amount: -100n, flowType: 'TRANSFER' },
        { account: 'target', amount: 100n, flowType: 'TRANSFER' },
      ],
    })
  }

  /** The ledger, which does something else after every page that is read of it. */
  const withInterruption = ({ ledger, database }: TestBank, between: () => Promise<void>): Ledger => {
    const then = async <T>(page: T): Promise<T> => {
      await between()
      return page
    }
    const outside = ledger.within(database)
    outside.within = (tx) => {
      const [inside, pages] = [ledger.within(tx), ledger.within(tx)]
      inside.readFlows = (query) => pages.readFlows(query).then(then)
      inside.readOrders = (query) => pages.readOrders(query).then(then)
      return inside
    }
    return outside
  }

  /** A store whose connection breaks when it has committed that an export is completed. */
  const withLostCommitReply = (database: Database): Database => {
    let isCompleting = false
    const over = database.withPlugin({
      transformQuery: ({ node }) => {
        isCompleting ||= node.kind === 'UpdateQueryNode' && JSON.stringify(node).includes('completed_at')
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const begin = over.transaction.bind(over)
    over.transaction = () => {
      const beginning = begin()
      const execute = beginning.execute.bind(beginning)
      beginning.execute = async (work) => {
        const result = await execute(work)
        if (isCompleting) throw new Error('the connection broke')
        return result
      }
      return beginning
    }
    return over
  }

  const run = (kinds: ReturnType<typeof createExports>['jobs'], payload: object, changed: Partial<JobFacts> = {}) => {
    const kind = kinds.find(({ name }) => name === 'exports.run')
    if (!kind) throw new Error('no such job')
    return kind.work(payload, { ...facts, ...changed })
  }

  test('money that moves while it is read is not in it, on either store', async () => {
    for (const store of stores) {
      const { book, workspace, from, to, createDomain, requestExport, readState, rowsOf } = await setUp(store)
      book.clock.advance(5)
      const { jobs } = createDomain(withInterruption(book, () => transfer(book, from, to)))
      for (const type of ['FLOWS', 'TRANSFERS'] as const) {
        const before = await countRows(book, workspace, type)
        book.clock.advance(5)
        const exportId = await requestExport(type)
        await run(jobs, { workspaceId: workspace, exportId })
        const rows = await rowsOf(exportId)
        expect(rows.length, `${store.name} ${type}`).toBe(before)
        expect(new Set(rows.map(({ bizId }) => bizId)).size).toBe(before)
        expect(await readState(exportId)).toMatchObject({ export_status: 'COMPLETED', row_count: before })
        if (type === 'TRANSFERS') continue
        // What left one wallet came into the other one: neither is read later than the other.
        const moved = rows.filter(({ flowType }) => flowType === 'TRANSFER')
        const count = (direction: string) => moved.filter((row) => row.direction === direction).length
        expect(count('IN')).toBe(count('OUT'))
      }
    }
  })

  test('while it is RUNNING it tells how many rows there are so far, on either store', async () => {
    for (const store of stores) {
      const { book, workspace, createDomain, requestExport, readState } = await setUp(store)
      book.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const progress: number[] = []
      const between = async () => {
        book.clock.advance(300)
        const { export_status: status, row_count: rows } = await readState(exportId)
        if (status === 'RUNNING') progress.push(rows ?? -1)
      }
      const { jobs } = createDomain(withInterruption(book, between))
      await run(jobs, { workspaceId: workspace, exportId })
      expect(progress.slice(0, 3), store.name).toEqual([0, 1, 8])
      expect(progress.length).toBeGreaterThan(4)
      expect([...new Set(progress), opening - 1]).toEqual([...progress, opening - 1].toSorted((a, b) => a - b))
    }
  })

  test('an attempt that dies half-way is begun anew by the next; the late end of the first changes nothing', async () => {
    for (const store of stores) {
      const { book, workspace, createDomain, requestExport, readState, rowsOf } = await setUp(store)
      book.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const reached = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const slow = createDomain(
        withInterruption(book, () => {
          reached.resolve()
          return held.promise
        }),
      )
      // Its lease is lost while it reads; it learns of it when it is too late.
      const dying = run(slow.jobs, { workspaceId: workspace, exportId })
      await reached.promise
      expect(await readState(exportId)).toMatchObject({ export_status: 'RUNNING', row_count: 0 })
      const { jobs } = createDomain(book.ledger)
      await run(jobs, { workspaceId: workspace, exportId }, { attempt: 2 })
      const completed = await readState(exportId)
      expect(completed).toMatchObject({ export_status: 'COMPLETED', row_count: opening - 1 })
      held.resolve()
      await dying.catch(() => undefined)
      expect(await readState(exportId)).toEqual(completed)
      expect(await rowsOf(exportId)).toHaveLength(opening - 1)
      // Done is done: a third attempt finds nothing to do.
      await run(jobs, { workspaceId: workspace, exportId }, { attempt: 3 })
      expect(await readState(exportId)).toEqual(completed)
    }
  })

  test('an attempt that another one has taken over from writes nothing, while that one is still at work', async () => {
    for (const store of stores) {
      const { database } = store
      const { book, workspace: workspaceId, requestExport, readState } = await setUp(store)
      const exportId = await requestExport('FLOWS')
      const late = { workspaceId, exportId, runId: ids.next<'run'>() }
      const present = { workspaceId, exportId, runId: ids.next<'run'>() }
      for (const each of [late, present]) expect(await beginRun(database, each)).toBeDefined()
      const at = book.clock.now()
      const file = { blobKey: `exports/${randomUUID()}`, fileName: 'late.csv', rowCount: 1, sizeBytes: 1, sha256: '00' }
      expect(await recordProgress(database, late, 1)).toBe(false)
      expect(
        await inTransaction(database, (tx) => completeRun(tx, late, { ...file, at, expiresAt: addMs(at, 1_000) })),
      ).toBe(false)
      await failRun(database, late, 'SYSTEM.INTERNAL_ERROR')
      expect(await readState(exportId)).toMatchObject({ export_status: 'RUNNING', row_count: 0, blob_key: null })
      expect(await recordProgress(database, present, 1)).toBe(true)
    }
  })

  test('an attempt whose export is completed writes nothing more, and fails nothing', async () => {
    for (const store of stores) {
      const { database } = store
      const { book, workspace: workspaceId, requestExport, readState } = await setUp(store)
      const exportId = await requestExport('FLOWS')
      const run = { workspaceId, exportId, runId: ids.next<'run'>() }
      expect(await beginRun(database, run)).toBeDefined()
      const at = book.clock.now()
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

  test('an export whose end is written without an answer keeps its bytes, on either store', async () => {
    for (const store of stores) {
      const { book, workspace, createDomain, requestExport, readState, rowsOf, listUnnamedBlobs } = await setUp(store)
      await store.database.deleteFrom('unnamed_blobs').execute()
      book.clock.advance(5)
      const exportId = await requestExport('TRANSFERS')
      const payload = { workspaceId: workspace, exportId }
      const { jobs } = createDomain(book.ledger, withLostCommitReply(store.database))
      await expect(run(jobs, payload)).rejects.toThrow('the connection broke')
      await jobs[0]?.abandon?.(payload)
      expect(await readState(exportId)).toMatchObject({ export_status: 'COMPLETED', row_count: opening - 1 })
      expect(await rowsOf(exportId)).toHaveLength(opening - 1)
      expect(await listUnnamedBlobs()).toEqual([])
    }
  })

  test('an export is EXPIRED from the very instant of its end, before any sweep: read and listed so', async () => {
    for (const { database, ...store } of stores) {
      const { book, workspace, createDomain, requestExport, readState } = await setUp({ database, ...store })
      const exportId = await requestExport('TRANSFERS')
      await run(createDomain(book.ledger).jobs, { workspaceId: workspace, exportId })
      const end = (await readState(exportId)).expires_at ?? expect.fail()
      const paging = { currentPage: 1, pageSize: 1, sortBy: 'createdAt', sortOrder: 'asc' } as const
      for (const [at, status] of [
        [addMs(end, -1), 'COMPLETED'],
        [end, 'EXPIRED'],
      ] as const) {
        const viewer = { workspace, account: book.account(), at }
        expect((await exportById(database, viewer, exportId))?.status).toBe(status)
        const { items } = await listExports(database, viewer, { ...paging, status })
        expect(items).toMatchObject([{ id: exportId, status }])
      }
    }
  })

  test('an export whose time is over loses its bytes with the next sweep, and an emptied workspace’s too', async () => {
    for (const store of stores) {
      const {
        book,
        workspace: workspaceId,
        createDomain,
        requestExport,
        readState,
        listUnnamedBlobs,
      } = await setUp(store)
      await store.database.deleteFrom('unnamed_blobs').execute()
      const { jobs, clean } = createDomain(book.ledger)
      const sweep = () => jobs.find(({ name }) => name === 'exports.sweep')?.work({}, facts)
      const make = async (): Promise<string> => {
        const exportId = await requestExport('TRANSFERS')
        await run(jobs, { workspaceId, exportId })
        return (await readState(exportId)).blob_key ?? ''
      }
      const isThere = async (key: string) => (await blobs.get(key))?.destroy() !== undefined
      const over = await make()
      book.clock.advance(60_000)
      const [present, emptied] = [await make(), await make()]
      await sweep()
      expect([await isThere(over), await listUnnamedBlobs()]).toEqual([false, []])
      expect([await isThere(present), await isThere(emptied)]).toEqual([true, true])
      await inTransaction(store.database, (tx) => clean(tx, { workspaceId, at: book.clock.now() }))
      expect((await listUnnamedBlobs()).sort()).toEqual([present, emptied].sort())
      await sweep()
      expect([await isThere(present), await isThere(emptied), await listUnnamedBlobs()]).toEqual([false, false, []])
    }
  })

  test('an export that fails is RUNNING until it is given up, and has failed then', async () => {
    for (const store of stores) {
      const { book, workspace, createDomain, requestExport, readState } = await setUp(store)
      const { jobs } = createDomain(withInterruption(book, () => Promise.reject(new Error('the store is gone'))))
      const exportId = await requestExport('TRANSFERS')
      const payload = { workspaceId: workspace, exportId }
      await expect(run(jobs, payload)).rejects.toThrow('the store is gone')
      expect(await readState(exportId)).toMatchObject({ export_status: 'RUNNING' })
      await jobs[0]?.abandon?.(payload)
      expect(await readState(exportId)).toMatchObject({
        export_status: 'FAILED',
        failure_code: 'SYSTEM.INTERNAL_ERROR',
      })
    }
  })

  test('an export that is given up has failed; one that is there already stays', async () => {
    for (const store of stores) {
      const { book, workspace, createDomain, requestExport, readState } = await setUp(store)
      const { jobs } = createDomain(book.ledger)
      const abandon = async (exportId: string) => jobs[0]?.abandon?.({ workspaceId: workspace, exportId })
      const deadly = await requestExport('TRANSFERS')
      await abandon(deadly)
      expect(await readState(deadly)).toMatchObject({ export_status: 'FAILED', failure_code: 'SYSTEM.INTERNAL_ERROR' })
      const good = await requestExport('TRANSFERS')
      await run(jobs, { workspaceId: workspace, exportId: good })
      const completed = await readState(good)
      await abandon(good)
      expect(await readState(good)).toEqual(completed)
    }
  })

  const countRows = async (book: TestBank, workspace: TestWallet['workspace'], type: 'FLOWS' | 'TRANSFERS') => {
    if (type === 'TRANSFERS') {
      const query = { type: 'TRANSFER', workspace, sortBy: 'createdAt', sortOrder: 'asc' } as const
      return (await book.ledger.listOrders({ ...query, currentPage: 1, pageSize: 1 })).pagination.totalRecords
    }
    let total = 0
    const all = await book.ledger.listWallets(workspace)
    expect(all).toHaveLength(wallets)
    for (const { bizId: wallet } of all) {
      const page = { currentPage: 1, pageSize: 1, sortOrder: 'asc' } as const
      total += (await book.ledger.listFlows({ ...page, wallet, workspace })).pagination.totalRecords
    }
    return total
  }
})
