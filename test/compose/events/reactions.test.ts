import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Domain } from '../../../src/api/domain.ts'
import { reactionConsumer, reactionJobs } from '../../../src/compose/events/reactions.ts'
import { addMs, bizId, hours, minutes } from '../../../src/kernel/index.ts'
import type { StoredEvent } from '../../../src/platform/events/index.ts'
import { createJobRunner } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { testClock } from '../../identity/clock.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const type = 'loan.granted'
const event: StoredEvent = {
  id: bizId<'event'>(randomUUID()),
  type,
  subject: 'loan-1',
  workspaceId: null,
  forOperators: true,
  data: { amount: '1.00' },
  at: testClock().now(),
  position: 1,
  workspacePosition: null,
}

describe.each(stores)('reactions on $name', ({ database }) => {
  const clock = testClock()
  const facts = { attempt: 1, signal: new AbortController().signal, drop: () => undefined }
  const jobs = () => database.selectFrom('jobs').select(['bizId', 'kind', 'payload']).execute()
  const effects = async () => (await sql`SELECT subject FROM effects`.execute(database)).rows
  const consume = (...domains: Pick<Domain, 'name' | 'on'>[]) =>
    reactionConsumer(domains, { clock, ids, source: 'https://portico.test' })
  const insert: NonNullable<Domain['on']>[string] = async ({ subject }, { tx }) => {
    await sql`INSERT INTO effects VALUES (${subject})`.execute(tx)
  }
  const job = (react: typeof insert) => {
    const [kind] = reactionJobs({ name: 'loans', on: { [type]: react } }, {}, { database })
    if (!kind) throw new Error('no job')
    return kind
  }
  const enqueue = async () => {
    await database.transaction().execute((tx) => consume({ name: 'loans', on: { [type]: insert } })(tx, [event]))
    const [only] = await jobs()
    if (!only) throw new Error('no job')
    return only
  }

  beforeEach(async () => {
    await database.deleteFrom('jobs').execute()
    await sql`DROP TABLE IF EXISTS effects`.execute(database)
    await sql`CREATE TABLE effects (subject text)`.execute(database)
  })

  test('a job per domain and fact: two workspaces that read it are one fact', async () => {
    const domains = ['loans', 'cards'].map((name) => ({ name, on: { [type]: insert } }))
    const ofAnother = { name: 'audits', on: { 'loan.repaid': insert } }
    const seenByAnother = { ...event, position: 2, forOperators: false }
    await database.transaction().execute((tx) => consume(...domains, ofAnother)(tx, [event, seenByAnother]))
    const found = await jobs()
    expect(found.map(({ kind }) => kind).toSorted()).toEqual(['cards.on.loan.granted', 'loans.on.loan.granted'])
    expect(found[0]?.payload).toMatchObject({ specversion: '1.0', id: event.id, source: 'https://portico.test', type })
  })

  test('a job that runs again after it has ended, as after a lost lease: one effect', async () => {
    const { bizId: jobId, payload } = await enqueue()
    await job(insert).work(payload, { jobId, ...facts })
    await expect(job(insert).work(payload, { jobId, ...facts })).rejects.toThrow('has ended in another process')
    expect([await effects(), await jobs()]).toEqual([[{ subject: 'loan-1' }], []])
  })

  test('a job that two replicas run at the same time: one effect', async () => {
    const { bizId: jobId, payload } = await enqueue()
    const runs = await Promise.allSettled([1, 2].map(() => job(insert).work(payload, { jobId, ...facts })))
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await effects()).toHaveLength(1)
  })

  test('a reaction that throws: its effects roll back, and its job stays', async () => {
    const { bizId: jobId, payload } = await enqueue()
    const failing = job(async (...args) => {
      await insert(...args)
      throw new Error('later')
    })
    await expect(failing.work(payload, { jobId, ...facts })).rejects.toThrow('later')
    expect([await effects(), (await jobs()).length]).toEqual([[], 1])
  })

  test('what a reaction needs is down for an hour: retried until then, with one effect, and delays no other', async () => {
    const at = clock.now()
    const { bizId: jobId } = await enqueue()
    let attempts = 0
    const react: typeof insert = async (...args) => {
      attempts += 1
      if (args[0].id === event.id && clock.now() < addMs(at, hours(1))) throw new Error('down')
      await insert(...args)
    }
    const runner = createJobRunner({
      ...{ database, clock, ids },
      settings: { concurrency: 1 },
      kinds: [job(react)],
      onFailure: () => undefined,
      onDropped: () => undefined,
    })
    await runner.runOne()
    const other = { ...event, id: bizId<'event'>(randomUUID()), subject: 'loan-2' }
    await database.transaction().execute((tx) => consume({ name: 'loans', on: { [type]: insert } })(tx, [other]))
    await runner.runOne()
    expect([await effects(), attempts]).toEqual([[{ subject: 'loan-2' }], 2])
    while ((await jobs()).some((each) => each.bizId === jobId)) {
      clock.advance(minutes(1))
      await runner.runOne()
    }
    expect(await effects()).toEqual([{ subject: 'loan-2' }, { subject: 'loan-1' }])
    expect(attempts).toBeLessThan(25)
    expect(clock.now() - at).toBeLessThan(hours(1) + minutes(6))
  })

  test('a reaction that uses the store outside of its transaction: throws, without effects', async () => {
    const { bizId: jobId, payload } = await enqueue()
    const outside = job(async () => {
      await sql`INSERT INTO effects VALUES ('outside')`.execute(database)
    })
    await expect(outside.work(payload, { jobId, ...facts })).rejects.toThrow('inside `transaction`')
    expect(await effects()).toEqual([])
  })
})
