import { afterAll, describe, expect, test } from 'vitest'
import { createJobRunner, enqueueJob, type JobKind } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { testClock } from '../../identity/clock.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('dropped jobs on $name', ({ database }) => {
  /** Enqueues a job and returns its runner. */
  const prepare = async (work: JobKind['work']) => {
    const clock = testClock()
    const [failures, dropped]: unknown[][] = [[], []]
    await database.deleteFrom('jobs').execute()
    await enqueueJob(database, ids, { kind: 'test', payload: {}, at: clock.now() })
    const runner = createJobRunner({
      ...{ database, clock, ids },
      settings: { concurrency: 1, pollMs: 10, leaseMs: 1_000 },
      kinds: [{ name: 'test', attempts: 2, work }],
      onFailure: (failure) => failures?.push(failure),
      onDropped: (job) => dropped?.push(job),
    })
    return { clock, runner, failures, dropped, left: () => database.selectFrom('jobs').selectAll().execute() }
  }

  test('a job that a limit drops is reported and deleted', async () => {
    const { runner, failures, dropped, left } = await prepare(async (_payload, { drop }) => drop())
    expect(await runner.runOne()).toBe(true)
    expect(dropped).toMatchObject([{ kind: 'test', reason: 'limit' }])
    expect([failures, await left()]).toEqual([[], []])
  })

  test('a job is reported as dropped after its last attempt', async () => {
    const { clock, runner, dropped, left } = await prepare(() => Promise.reject(new Error('no mail server')))
    await runner.runOne()
    expect(dropped).toEqual([])
    clock.advance(1_000)
    await runner.runOne()
    expect(dropped).toMatchObject([{ kind: 'test', attempt: 2, reason: 'failed' }])
    expect(await left()).toMatchObject([{ status: 'FAILED' }])
  })
})
