import fs, { globSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, expect, test } from 'vitest'
import { openEmbedded } from '../../../src/database/embedded/open-embedded.ts'
import { isDatabaseUnavailable } from '../../../src/database/errors.ts'

const folder = await mkdtemp(join(tmpdir(), 'portico-durable-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const fsync = fs.fsyncSync
afterEach(() => replaceFsync(fsync))

/** Affects modules that import it from node:fs, too. */
function replaceFsync(replacement: typeof fsync): void {
  fs.fsyncSync = replacement
  syncBuiltinESMExports()
}

function onFsync(observe: (path: string) => void): void {
  replaceFsync((descriptor) => {
    observe(readlinkSync(`/proc/self/fd/${descriptor}`))
    fsync(descriptor)
  })
}

async function open(name: string, isDurable: boolean) {
  const directory = join(folder, name)
  const store = await openEmbedded({ directory, isDurable, minimumFreeBytes: 0, onDiskFull: () => undefined })
  await sql`CREATE TABLE IF NOT EXISTS notes (text text)`.execute(store.database)
  return store
}

/** Counts log flushes, and those after which the log contained a text. */
async function walFlushes(text: string, work: () => Promise<unknown>) {
  const flushed = { all: 0, withText: 0 }
  onFsync((path) => {
    if (!path.includes('/pg/pg_wal/')) return
    flushed.all++
    if (statSync(path).isFile() && readFileSync(path).includes(text)) flushed.withText++
  })
  await work()
  replaceFsync(fsync)
  return flushed
}

test('open durable: every file of a new store is flushed before the store is marked as opened', async () => {
  const flushed = new Set<string>()
  let missing: string[] = ['the mark is never flushed']
  onFsync((path) => {
    flushed.add(path)
    if (!path.endsWith('portico.opened')) return
    missing = globSync(`${folder}/new/pg/**`).filter((each) => each !== path && !flushed.has(each))
  })
  const store = await open('new', true)
  expect(missing).toEqual([])
  expect(flushed.size).toBeGreaterThan(500)
  for (const above of [join(folder, 'new'), folder]) expect(flushed).toContain(above)
  await store.close()
})

test('commit durable: its log is on disk before it is acknowledged', async () => {
  const { database, close } = await open('new', true)
  const { rows } = await sql`
    SELECT current_setting('fsync') AS fsync, current_setting('wal_sync_method') AS method,
      current_setting('synchronous_commit') AS commit, current_setting('full_page_writes') AS pages`.execute(database)
  expect(rows).toEqual([{ fsync: 'on', method: 'fsync', commit: 'on', pages: 'on' }])
  const statement = () => sql`INSERT INTO notes VALUES ('written by a statement')`.execute(database)
  expect((await walFlushes('written by a statement', statement)).withText).toBe(1)
  const transaction = () =>
    database.transaction().execute(async (tx) => {
      await sql`INSERT INTO notes VALUES ('written in a transaction')`.execute(tx)
    })
  expect((await walFlushes('written in a transaction', transaction)).withText).toBe(1)
  const read = () => sql`SELECT * FROM notes`.execute(database)
  expect((await walFlushes('', read)).all).toBe(0)
  await close()
})

test('checkpoint durable: the data files are flushed', async () => {
  const { database, close } = await open('new', true)
  const { rows } = await sql<{ path: string }>`SELECT pg_relation_filepath('notes') AS path`.execute(database)
  await sql`INSERT INTO notes VALUES ('one more')`.execute(database)
  const flushed: string[] = []
  onFsync((path) => void flushed.push(path))
  await sql`CHECKPOINT`.execute(database)
  expect(flushed).toContain(join(folder, 'new/pg', rows[0]?.path ?? ''))
  await close()
})

test('commit durable: a failed flush is not acknowledged, and the store is not used again', async () => {
  const store = await open('new', true)
  const insert = () =>
    sql`INSERT INTO notes VALUES ('lost')`.execute(store.database).then(
      () => 'acknowledged',
      (error: unknown) => isDatabaseUnavailable(error),
    )
  replaceFsync(() => {
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
  })
  expect(await insert()).toBe(true)
  expect((await store.fatal).message).toContain('has failed')
  replaceFsync(fsync)
  expect(await insert()).toBe(true)
  await store.close()
})

test('commit not durable: nothing is flushed', async () => {
  const { database, close } = await open('fast', false)
  const statement = () => sql`INSERT INTO notes VALUES ('written')`.execute(database)
  expect((await walFlushes('written', statement)).all).toBe(0)
  await close()
})
