import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addMs } from '../../src/kernel/index.ts'
import {
  exportAuditLog,
  insertAuditEntry,
  readExportLag,
  type SendEntries,
  sealAuditLog,
  toLines,
} from '../../src/platform/audit/index.ts'
import { createLogger, writeLines } from '../../src/platform/telemetry/index.ts'
import { testClock } from '../identity/clock.ts'
import { everyStore, type TestStore } from '../ledger/stores.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-audit-export-'))
const clock = testClock()
const never = new AbortController().signal
let stores: TestStore[]
beforeAll(async () => {
  stores = await everyStore()
})
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  rmSync(folder, { recursive: true })
})

async function write({ database }: TestStore, count: number): Promise<void> {
  for (let number = 0; number < count; number++)
    await insertAuditEntry(database, {
      ...{ at: addMs(clock.now(), number), portal: 'SYSTEM', actorId: null, workspaceId: null, action: 'test.act' },
      ...{ targetId: null, outcome: 'SUCCESS', requestId: `${number}`, clientIp: '203.0.113.7', detail: { number } },
    })
  await sealAuditLog(database)
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}

test('audit.export: every sealed entry in order, after a receiver that was down and a batch whose reply was lost', async () => {
  for (const store of stores) {
    const { database, name } = store
    await write(store, 250)
    const sent: number[] = []
    let calls = 0
    const send: SendEntries = async (entries) => {
      calls += 1
      if (calls <= 2) throw new Error('down')
      sent.push(...entries.map(({ sequence }) => sequence))
      // The receiver has the second batch, but its reply is lost.
      if (calls === 4) throw new Error('reply lost')
    }
    const runs = []
    for (let run = 0; run < 4; run++)
      runs.push(
        await exportAuditLog(database, send, never).then(
          () => 'done',
          ({ message }) => message,
        ),
      )
    expect(runs, name).toEqual(['down', 'down', 'reply lost', 'done'])
    // At least once: the second batch twice, and each entry first after the one before it.
    expect(sent).toEqual([...upTo(200), ...upTo(250).slice(100)])
    expect(await readExportLag(database)).toEqual({ entries: 0, oldestAt: null })
    await write(store, 1)
    expect(await readExportLag(database)).toEqual({ entries: 1, oldestAt: clock.now() })
    await exportAuditLog(database, send, never)
    expect([sent.at(-1), (await readExportLag(database)).entries]).toEqual([251, 0])
  }
})

test('audit.export: of two exporters at a time, none skips an entry or sets the position back', async () => {
  for (const store of stores) {
    await write(store, 300)
    const logs: number[][] = [[], []]
    await Promise.all(
      logs.map((log) =>
        exportAuditLog(
          store.database,
          async (entries) => void log.push(...entries.map((entry) => entry.sequence)),
          never,
        ),
      ),
    )
    const { entries } = await readExportLag(store.database)
    await exportAuditLog(
      store.database,
      async (more) => void logs[0]?.push(...more.map((entry) => entry.sequence)),
      never,
    )
    expect(entries, store.name).toBeGreaterThanOrEqual(0)
    for (const log of logs) expect(log).toEqual(log.toSorted((a, b) => a - b))
    expect([...new Set(logs.flat())].toSorted((a, b) => a - b)).toEqual(upTo(551).slice(251))
  }
})

test('audit.export: a position that somebody moved behind the log is an error, not the end of the export', async () => {
  for (const { database, name } of stores) {
    const send: SendEntries = async () => expect.fail('nothing to send')
    const move = (sequence: number) => database.updateTable('audit_export').set({ sequence }).execute()
    await move(1_000_000)
    await expect(exportAuditLog(database, send, never), name).rejects.toThrow('the position of audit.export is 1000000')
    await move(551)
    await exportAuditLog(database, send, never)
  }
})

test('audit.export stdout: a line per entry at any log level, with the head and without other parts', async () => {
  const [store] = stores
  if (!store) throw new Error('the embedded store exists')
  await write(store, 2)
  const file = join(folder, 'log')
  const logger = createLogger('silent', file)
  logger.info('not written')
  await exportAuditLog(store.database, (entries, signal) => writeLines(logger, toLines(entries), signal), never)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).audit)).toMatchObject([
    { sequence: 552, action: 'test.act', outcome: 'SUCCESS', clientIp: '203.0.113.7', detail: { number: 0 } },
    { sequence: 553, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ])
  const [first, second] = lines.map((line) => JSON.parse(line).audit)
  expect(second.previousHash).toBe(first.hash)
})

test('audit.export stdout: a destination that is full or stuck is an error, so that the entries are sent again', async () => {
  const full = createLogger('info', '/dev/full')
  await expect(writeLines(full, 'lost\n', never)).rejects.toThrow('does not accept data')
  await expect(writeLines(full, 'lost\n', AbortSignal.abort())).rejects.toThrow()
})
