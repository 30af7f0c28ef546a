import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/index.ts'
import { addMs, type Instant } from '../../src/kernel/index.ts'
import { AuditVerifier, insertAuditEntry, sealAuditLog, verifyAuditLog } from '../../src/platform/audit/index.ts'
import { hashEntry } from '../../src/platform/audit/seal.ts'
import { unlinkedEntry } from '../../src/platform/audit/store.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { testClock } from '../identity/clock.ts'
import { embeddedStore, everyStore, type TestStore } from '../ledger/stores.ts'

describe('the audit chain', () => {
  let stores: TestStore[]
  beforeAll(async () => {
    stores = await everyStore()
    for (const { database } of stores) {
      for (let count = 1; count <= 1_203; count++) await write(database, count)
    }
  })
  afterAll(() => Promise.all(stores.map((store) => store.close())))

  const each = (name: string, work: (database: Database) => Promise<void>) =>
    test(name, async () => {
      for (const { database } of stores) await work(database)
    })

  each('concurrent sealers seal each entry once, without a gap', async (database) => {
    const sealed = await Promise.all([1, 2, 3].map(() => sealAuditLog(database)))
    expect(sealed.reduce((sum, count) => sum + count)).toBe(1_203)
    expect(await verifyAuditLog(database)).toMatchObject({ entriesChecked: 1_203, broken: null })
    expect(await sealAuditLog(database)).toBe(0)
  })

  each('later entries extend the chain', async (database) => {
    await write(database, 2_000)
    expect(await verifyAuditLog(database)).toMatchObject({ entriesChecked: 1_203, broken: null })
    expect(await sealAuditLog(database)).toBe(1)
    expect(await verifyAuditLog(database)).toMatchObject({ entriesChecked: 1_204, broken: null })
  })

  each('verification ignores entries sealed after its start', async (database) => {
    await write(database, 2_500)
    let isRead = false
    const intercepted = database.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (!isRead) {
          isRead = true
          await sealAuditLog(database)
        }
        return result
      },
    })
    expect(await verifyAuditLog(intercepted)).toMatchObject({ entriesChecked: 1_204, broken: null })
    expect(await verifyAuditLog(database)).toMatchObject({ entriesChecked: 1_205, broken: null })
  })

  each('concurrent callers share one verification, which yields to the event loop', async (database) => {
    let statements = 0
    let turns = 0
    const counted = database.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await verifyAuditLog(counted)
    const ofOneRun = statements
    const verifier = new AuditVerifier({ database: counted, clock: testClock() })
    const verdicts = await Promise.all([1, 2, 3].map(() => verifier.verify()))
    expect([statements, new Set(verdicts).size]).toEqual([2 * ofOneRun, 1])
    const immediate = (): void => {
      turns += 1
      timer = setImmediate(immediate)
    }
    let timer = setImmediate(immediate)
    expect(await verifier.verify()).toMatchObject({ broken: null, checkedAt: expect.any(Number) })
    clearImmediate(timer)
    expect(statements).toBe(3 * ofOneRun)
    expect(turns).toBeGreaterThan(0)
  })

  each(
    'a head that is newer than the shared verification is found, and one that the log lacks is not',
    async (database) => {
      const [started, sealed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const paused = database.withPlugin({
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          started.resolve()
          await sealed.promise
          return result
        },
      })
      const verifier = new AuditVerifier({ database: paused, clock: testClock() })
      const earlier = verifier.verify()
      await started.promise
      await write(database, 2_550)
      await sealAuditLog(database)
      const { head } = await new AuditVerifier({ database, clock: testClock() }).verify()
      const found = verifier.verifyHead(head ?? '', 'ALL')
      sealed.resolve()
      const { head: before } = await earlier
      expect(before).not.toBe(head)
      expect(await found).toMatchObject({ place: 'FOUND', verification: { head, firstSequence: 1, broken: null } })
      expect(await verifier.verifyHead(`999999:${'0'.repeat(64)}`, 'NEW')).toMatchObject({ place: 'MISSING' })
    },
  )

  each('a verification of new entries reads only those behind the verified ones, for a day', async (database) => {
    let rows = 0
    const counted = database.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        rows += result.rows.length
        return result
      },
    })
    const clock = testClock()
    const verifier = new AuditVerifier({ database: counted, clock })
    const { entriesChecked, ...first } = await verifier.verify('NEW')
    expect(first).toMatchObject({ firstSequence: 1, broken: null })
    expect(rows).toBeGreaterThan(entriesChecked)
    await write(database, 2_600)
    await sealAuditLog(database)
    const intact = entriesChecked + 1
    rows = 0
    expect(await verifier.verify('NEW')).toMatchObject({ firstSequence: intact, entriesChecked: intact, broken: null })
    expect(await verifier.verify('NEW')).toMatchObject({ firstSequence: intact + 1, entriesChecked: intact })
    expect(rows).toBeLessThan(5)
    clock.advance(86_400_000)
    expect(await verifier.verify('NEW')).toMatchObject({ firstSequence: 1, entriesChecked: intact })
    clock.advance(1)
    expect(await verifier.verify('ALL')).toMatchObject({ firstSequence: 1, entriesChecked: intact })
  })

  each('a verification that fails leaves what it has verified to the next one', async (database) => {
    let remaining = 4
    const failing = database.withPlugin({
      transformQuery: ({ node }) => {
        remaining -= 1
        if (remaining === 0) throw new Error('the database is gone')
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const verifier = new AuditVerifier({ database: failing, clock: testClock() })
    const both = await Promise.allSettled([verifier.verify('NEW'), verifier.verify('ALL')])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    remaining = 4
    const resumed = new AuditVerifier({ database: failing, clock: testClock() })
    await expect(resumed.verify()).rejects.toThrow('the database is gone')
    expect(await resumed.verify('NEW')).toMatchObject({ firstSequence: 201, broken: null })
  })

  each('the search for unlinked entries does not read the chain', async (database) => {
    const read = await rowsRead(database, unlinkedEntry)
    expect(read('audit_log')).toBe(0)
  })

  each('a batch is sealed by time, then by id', async (database) => {
    const now = clock.now()
    for (const back of [1, 3, 2, 3, 3, 3, 3]) await write(database, back, addMs(now, -back))
    expect(await sealAuditLog(database)).toBe(7)
    const { rows } = await sql<{ sequence: number; id: string; back: string }>`
      SELECT sequence, biz_id AS id, detail->>'b' AS back FROM audit_log ORDER BY sequence DESC LIMIT 7`.execute(
      database,
    )
    const chained = rows.reverse()
    expect(chained.map(({ back }) => back)).toEqual(['3', '3', '3', '3', '3', '2', '1'])
    const ids = chained.slice(0, 5).map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted())
  })

  each('the database refuses every change of an entry, sealed or not', async (database) => {
    await write(database, 3_000)
    const statements = [
      sql`UPDATE audit_log SET action = 'nothing' WHERE sequence = 5`,
      sql`UPDATE audit_log SET action = 'nothing' WHERE sequence IS NULL`,
      sql`UPDATE audit_log SET hash = decode('00', 'hex') WHERE sequence = 5`,
      sql`UPDATE audit_log SET sequence = 9000, action = 'x', hash = '', previous_hash = '' WHERE sequence IS NULL`,
      sql`DELETE FROM audit_log WHERE sequence = 5`,
      sql`TRUNCATE audit_log`,
      sql`UPDATE audit_chain SET sequence = 5, hash = (SELECT hash FROM audit_log WHERE sequence = 5)`,
      sql`UPDATE audit_chain SET hash = decode('00', 'hex')`,
      sql`DELETE FROM audit_chain`,
      sql`TRUNCATE audit_chain`,
    ]
    for (const statement of statements) await expect(statement.execute(database)).rejects.toThrow(/append-only/)
    await sealAuditLog(database)
  })

  const tamper = async (database: Database, statement: ReturnType<typeof sql>) => {
    for (const table of ['audit_log', 'audit_chain'])
      await sql`ALTER TABLE ${sql.table(table)} DISABLE TRIGGER USER`.execute(database)
    await statement.execute(database)
    for (const table of ['audit_log', 'audit_chain'])
      await sql`ALTER TABLE ${sql.table(table)} ENABLE TRIGGER USER`.execute(database)
    return verifyAuditLog(database)
  }

  each('an entry inserted with a seal is refused, or found if triggers were disabled', async (database) => {
    for (const place of [-1, 0, 90_000]) {
      const forged = sql`
        INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip, sequence, previous_hash, hash)
        VALUES (now(), 'SYSTEM', 'test.forge', 'SUCCESS', 'x', '', ${place}, '', '')`
      await expect(forged.execute(database)).rejects.toThrow(/append-only/)
      expect((await tamper(database, forged)).broken, String(place)).toMatchObject({
        sequence: place,
        reason: 'unlinked',
      })
      await tamper(database, sql`DELETE FROM audit_log WHERE action = 'test.forge'`)
    }
    expect((await verifyAuditLog(database)).broken).toBeNull()
  })

  each('a head that was set back or deleted is found', async (database) => {
    const head = await database.selectFrom('audit_chain').selectAll().executeTakeFirstOrThrow()
    const { bizId } = await database
      .selectFrom('audit_log')
      .select('bizId')
      .where('sequence', '=', 701)
      .executeTakeFirstOrThrow()
    const back = sql`UPDATE audit_chain SET sequence = 700, hash = (SELECT hash FROM audit_log WHERE sequence = 700)`
    expect(await tamper(database, back)).toEqual({
      entriesChecked: 700,
      broken: { sequence: 701, bizId, reason: 'unlinked' },
    })
    expect(await tamper(database, sql`DELETE FROM audit_chain`)).toEqual({
      entriesChecked: 0,
      broken: { sequence: 0, bizId: null, reason: 'missing' },
    })
    await database.insertInto('audit_chain').values(head).execute()
    expect((await verifyAuditLog(database)).broken).toBeNull()
  })

  each('a head that differs from the last entry’s hash is found', async (database) => {
    const { sequence, hash } = await database.selectFrom('audit_chain').selectAll().executeTakeFirstOrThrow()
    const other = sql`UPDATE audit_chain SET hash = decode(repeat('11', 32), 'hex')`
    expect(await tamper(database, other)).toEqual({
      entriesChecked: sequence,
      broken: { sequence, bizId: null, reason: 'unlinked' },
    })
    expect((await tamper(database, sql`UPDATE audit_chain SET hash = ${Buffer.from(hash)}`)).broken).toBeNull()
  })

  each('entries deleted at the end are found', async (database) => {
    const last = await database.selectFrom('audit_chain').select('sequence').executeTakeFirstOrThrow()
    const verdict = await tamper(database, sql`DELETE FROM audit_log WHERE sequence = ${last.sequence}`)
    expect(verdict.broken).toEqual({ sequence: last.sequence, bizId: null, reason: 'missing' })
  })

  each('a changed, relinked or deleted entry is found; the first of several is reported', async (database) => {
    const { bizId } = await database
      .selectFrom('audit_log')
      .select('bizId')
      .where('sequence', '=', 1_100)
      .executeTakeFirstOrThrow()
    const detail = sql`UPDATE audit_log SET detail = '{"amount": "1000000"}' WHERE sequence = 1100`
    expect(await tamper(database, detail)).toEqual({
      entriesChecked: 1_099,
      broken: { sequence: 1_100, bizId, reason: 'changed' },
    })
    const changedTime = sql`UPDATE audit_log SET at = at + interval '1 microsecond' WHERE sequence = 700`
    expect((await tamper(database, changedTime)).broken).toMatchObject({ sequence: 700, reason: 'changed' })
    const linked = sql`UPDATE audit_log SET previous_hash = decode(repeat('11', 32), 'hex') WHERE sequence = 300`
    expect((await tamper(database, linked)).broken).toMatchObject({ sequence: 300, reason: 'unlinked' })
    const removed = sql`DELETE FROM audit_log WHERE sequence = 20`
    expect((await tamper(database, removed)).broken).toEqual({ sequence: 20, bizId: null, reason: 'missing' })
  })
})

test('sealAuditLog: seals all batches unless its signal is aborted', async () => {
  const { database, close } = await embeddedStore()
  await sql`
    INSERT INTO audit_log (at, portal, action, outcome, request_id, client_ip)
    SELECT now(), 'SYSTEM', 'test.write', 'SUCCESS', 'x', '' FROM generate_series(1, 1203)`.execute(database)
  const stopping = new AbortController()
  stopping.abort(new Error('down'))
  await expect(sealAuditLog(database, stopping.signal)).rejects.toThrow('down')
  expect(await sealAuditLog(database)).toBe(1_203)
  expect(await sealAuditLog(database)).toBe(0)
  await close()
})

test('hashEntry: SHA-256 over the previous hash and the content as JSON', () => {
  const entry = {
    bizId: 'an id',
    atMicros: '1767614400000001',
    portal: 'SYSTEM',
    actorId: 'somebody',
    workspaceId: 'a workspace',
    action: 'test.write',
    targetId: 'something',
    outcome: 'SUCCESS',
    requestId: 'a request',
    clientIp: '203.0.113.7',
    detail: { b: 1, a: null },
  }
  const text =
    '[7,"an id","1767614400000001","SYSTEM","somebody","a workspace","test.write","something","SUCCESS","a request","203.0.113.7",{"a":null,"b":1}]'
  const previous = new Uint8Array(32).fill(5)
  expect(hashEntry(previous, 7, entry)).toEqual(createHash('sha256').update(previous).update(text).digest())
})

const clock = testClock()

function next(): Instant {
  clock.advance(1)
  return clock.now()
}

function write(database: Database, count: number, at = next()): Promise<void> {
  return insertAuditEntry(database, {
    at,
    portal: 'SYSTEM',
    actorId: null,
    workspaceId: null,
    action: 'test.write',
    targetId: null,
    outcome: 'SUCCESS',
    requestId: `request ${count}`,
    clientIp: '203.0.113.7',
    detail: { b: count, a: 'ä "quoted"', none: null },
  })
}
