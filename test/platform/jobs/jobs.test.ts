import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createJobRunner,
  enqueueJob,
  enqueueJobs,
  failedJobCleanup,
  type JobFacts,
  type JobKind,
} from '../../../src/platform/jobs/index.ts'
import { deleteJob, leaseJob, renewLease, returnJob } from '../../../src/platform/jobs/store.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { type TestClock, testClock } from '../../identity/clock.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'

const leaseMs = 1_000

describe('jobs on the database', () => {
  let stores: TestStore[]
  beforeAll(async () => {
    stores = await everyStore()
  })
  afterAll(() => Promise.all(stores.map((store) => store.close())))

  const each = (name: string, work: (world: World) => Promise<void>) =>
    test(name, async () => {
      for (const { database } of stores) {
        await database.deleteFrom('jobs').execute()
        await work(worldOf(database))
      }
    })

  each('a job runs once on one of many replicas, and is deleted', async ({ replica, enqueue, left }) => {
    for (let count = 0; count < 10; count++) await enqueue({ count })
    const done: unknown[] = []
    const replicas = Array.from({ length: 4 }, () => replica(async (payload) => void done.push(payload)))
    await Promise.all(
      replicas.map(async (each) => {
        while (await each.runOne());
      }),
    )
    expect(done).toHaveLength(10)
    expect(new Set(done.map((payload) => JSON.stringify(payload))).size).toBe(10)
    expect(await left()).toEqual([])
  })

  each('a job of a killed process runs again once its lease has expired', async (world) => {
    const { database, clock, enqueue, replica, left } = world
    await enqueue({ order: 1 })
    // The killed process has leased the job.
    const leaseId = ids.next<'lease'>()
    const dead = await leaseJob(database, { kinds: ['test'], leaseId, at: clock.now(), leaseMs })
    expect(dead?.attempt).toBe(1)
    const seen: JobFacts[] = []
    const other = replica(async (_payload, facts) => void seen.push(facts))
    clock.advance(leaseMs - 1)
    expect(await other.runOne()).toBe(false)
    clock.advance(1)
    expect(await other.runOne()).toBe(true)
    expect(seen).toMatchObject([{ attempt: 2 }])
    expect(await left()).toEqual([])
  })

  each('a job that kills each process is abandoned and marked as failed', async (world) => {
    const { database, clock, enqueue, replica, left, failures } = world
    await enqueue({ order: 1 })
    for (let killed = 1; killed <= 8; killed++) {
      const leaseId = ids.next<'lease'>()
      expect(await leaseJob(database, { kinds: ['test'], leaseId, at: clock.now(), leaseMs })).toBeDefined()
      clock.advance(leaseMs)
    }
    const [worked, abandoned]: [unknown[], unknown[]] = [[], []]
    const abandon = async (payload: unknown) => void abandoned.push(payload)
    const runner = replica(async (payload) => void worked.push(payload), { abandon })
    expect(await runner.runOne()).toBe(true)
    expect([worked, abandoned]).toEqual([[], [{ order: 1 }]])
    expect(failures).toMatchObject([{ kind: 'test', attempt: 9 }])
    expect(await left()).toMatchObject([{ status: 'FAILED' }])
    expect(await runner.runOne()).toBe(false)
  })

  each('a job runs after the maximum number of tolerated kills', async (world) => {
    const { database, clock, enqueue, replica, left } = world
    await enqueue({})
    for (let killed = 1; killed <= 7; killed++) {
      await leaseJob(database, { kinds: ['test'], leaseId: ids.next<'lease'>(), at: clock.now(), leaseMs })
      clock.advance(leaseMs)
    }
    const seen: JobFacts[] = []
    expect(await replica(async (_payload, facts) => void seen.push(facts)).runOne()).toBe(true)
    expect(seen).toMatchObject([{ attempt: 8 }])
    expect(await left()).toEqual([])
  })

  each('a process runs up to `concurrency` jobs, in order of due time', async (world) => {
    const { clock, enqueue, replica, left } = world
    const [started, ends]: [unknown[], (() => void)[]] = [[], []]
    for (const count of [3, 2, 1]) {
      await enqueue({ count })
      clock.advance(-1)
    }
    clock.advance(3)
    const busy = replica(
      async (payload) => {
        started.push(payload)
        await new Promise<void>((resolve) => ends.push(resolve))
      },
      { concurrency: 2 },
    )
    await busy.start()
    await expect.poll(() => started.length).toBe(2)
    await pause(100)
    expect(started).toEqual([{ count: 1 }, { count: 2 }])
    for (const end of ends) end()
    await expect.poll(() => started.length).toBe(3)
    for (const end of ends) end()
    await busy.stop()
    expect(await left()).toEqual([])
  })

  each('a lost lease can neither delete, return nor renew its job', async (world) => {
    const { database, clock, enqueue, left } = world
    await enqueue({})
    const leaseTest = () =>
      leaseJob(database, { kinds: ['test'], leaseId: ids.next<'lease'>(), at: clock.now(), leaseMs })
    const lost = await leaseTest()
    clock.advance(leaseMs)
    const current = await leaseTest()
    if (!lost || !current) throw new Error('no lease')
    await returnJob(database, lost, { runAt: clock.now(), failure: 'late', attempts: 0 })
    await deleteJob(database, lost)
    expect(await renewLease(database, lost, clock.now())).toBe(false)
    expect(await left()).toMatchObject([{ status: 'LEASED', leaseBizId: current.leaseId, attempts: 2 }])
  })

  each('a lost lease aborts the work, and its result changes nothing', async (world) => {
    const { database, clock, enqueue, replica, left } = world
    await enqueue({})
    const started = Promise.withResolvers<AbortSignal>()
    const slow = replica(async (_payload, { signal }) => {
      started.resolve(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new Error('stopped')
    })
    const running = slow.runOne()
    const signal = await started.promise
    clock.advance(leaseMs)
    const leaseId = ids.next<'lease'>()
    const taken = await leaseJob(database, { kinds: ['test'], leaseId, at: clock.now(), leaseMs })
    expect(taken?.attempt).toBe(2)
    await running
    expect(signal.aborted).toBe(true)
    expect(await left()).toMatchObject([{ status: 'LEASED', leaseBizId: leaseId }])
  })

  each('a lease that cannot be renewed aborts the work when it expires', async (world) => {
    const { database, clock, enqueue, replica, left } = world
    await enqueue({})
    const started = Promise.withResolvers<AbortSignal>()
    let isCutOff = false
    const work: JobKind['work'] = async (_payload, { signal }) => {
      started.resolve(signal)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    }
    const running = replica(
      work,
      {},
      withOutages(database, () => isCutOff),
    ).runOne()
    const signal = await started.promise
    clock.advance(leaseMs / 2)
    await expect.poll(async () => (await left())[0]?.leaseUntil).toBe(clock.now() + leaseMs)
    isCutOff = true
    clock.advance(leaseMs / 2)
    await pause(leaseMs)
    expect(signal.aborted).toBe(false)
    clock.advance(leaseMs / 2)
    await running
    expect(await left()).toMatchObject([{ status: 'LEASED', attempts: 1 }])
  })

  each('a failing job is retried with a growing delay, and failed after its attempts', async (world) => {
    const { clock, enqueue, replica, left, failures } = world
    await enqueue({})
    const failing = replica(async () => {
      throw new Error('no luck')
    })
    expect(await failing.runOne()).toBe(true)
    expect(await failing.runOne()).toBe(false)
    clock.advance(1_000)
    expect(await failing.runOne()).toBe(true)
    clock.advance(3_999)
    expect(await failing.runOne()).toBe(false)
    clock.advance(1)
    expect(await failing.runOne()).toBe(true)
    expect(await left()).toMatchObject([{ status: 'FAILED', attempts: 3, failure: 'no luck' }])
    expect(failures).toHaveLength(3)
  })

  each('the retry delay is at most five minutes', async (world) => {
    const { clock, replica } = world
    await world.enqueue({})
    const failing = replica(() => Promise.reject(new Error('no luck')), { attempts: 9 })
    for (let attempt = 1; attempt <= 8; attempt++) {
      clock.advance(300_000)
      expect(await failing.runOne()).toBe(true)
    }
    clock.advance(299_999)
    expect(await failing.runOne()).toBe(false)
    clock.advance(1)
    expect(await failing.runOne()).toBe(true)
  })

  each('abandon runs before a job is failed, and again if it throws', async (world) => {
    const { clock, enqueue, replica, left, failures } = world
    await enqueue({ order: 1 })
    const abandoned: unknown[] = []
    const failing = replica(
      async () => {
        throw new Error('no luck')
      },
      {
        attempts: 1,
        abandon: async (payload) => {
          abandoned.push(payload)
          if (abandoned.length === 1) throw new Error('store unavailable')
        },
      },
    )
    await expect(failing.runOne()).rejects.toThrow('store unavailable')
    expect(await left()).toMatchObject([{ status: 'LEASED' }])
    clock.advance(leaseMs)
    expect(await failing.runOne()).toBe(true)
    expect(abandoned).toEqual([{ order: 1 }, { order: 1 }])
    expect(await left()).toMatchObject([{ status: 'FAILED', failure: 'no luck' }])
    expect(failures).toHaveLength(2)
  })

  each('failedJobCleanup: deletes failed jobs after failedRetentionMs, and no waiting ones', async (world) => {
    const { database, clock, enqueue, replica, left } = world
    await enqueue({ job: 'failing' })
    const failing = replica(
      async () => {
        throw new Error('no luck')
      },
      { attempts: 1 },
    )
    await failing.runOne()
    await enqueue({ job: 'waiting' })
    const failedRetentionMs = 86_400_000
    const { name, ...cleanup } = failedJobCleanup({ database, clock, failedRetentionMs })
    const cleanUp = async () => {
      await database.deleteFrom('jobs').where('kind', '=', name).execute()
      const runner = replica(cleanup.work, { ...cleanup, name })
      await runner.start()
      await runner.stop()
      while (await runner.runOne());
      return (await left()).filter(({ kind }) => kind === 'test').map(({ status }) => status)
    }
    clock.advance(failedRetentionMs)
    expect((await cleanUp()).sort()).toEqual(['FAILED', 'WAITING'])
    clock.advance(1)
    expect(await cleanUp()).toEqual(['WAITING'])
  })

  each('a recurring job has one row and runs again after its interval', async ({ replica, clock, left }) => {
    let times = 0
    const recurring: Partial<JobKind> = { everyMs: 5_000 }
    const replicas = [1, 2].map(() => replica(async () => void times++, recurring))
    for (const each of replicas) {
      await each.start()
      await each.stop()
    }
    expect(await left()).toHaveLength(1)
    const fresh = replica(async () => void times++, recurring)
    const before = times
    clock.advance(5_000)
    expect(await fresh.runOne()).toBe(true)
    expect(await fresh.runOne()).toBe(false)
    clock.advance(5_000)
    expect(await fresh.runOne()).toBe(true)
    expect(times).toBe(before + 2)
  })

  each('a recurring job that kills each process is never failed', async (world) => {
    const { database, clock, replica, left } = world
    let times = 0
    const recurring = replica(async () => void times++, { everyMs: 5_000, concurrency: 0 })
    await recurring.start()
    for (let killed = 1; killed <= 9; killed++) {
      await leaseJob(database, { kinds: ['test'], leaseId: ids.next<'lease'>(), at: clock.now(), leaseMs })
      clock.advance(leaseMs)
    }
    await recurring.runOne()
    await recurring.stop()
    expect([times, await left()]).toMatchObject([1, [{ status: 'WAITING', attempts: 0 }]])
  })

  each('a recurring job: initial delay; a shorter interval applies immediately, a longer one later', async (world) => {
    const { clock, left } = world
    const startDelays = async (everyMs: number, initialDelayMs = 0) => {
      const runner = world.replica(async () => undefined, { everyMs, initialDelayMs, concurrency: 0 })
      await runner.start()
      await runner.stop()
      return (await left()).map(({ runAt }) => runAt - clock.now())
    }
    expect([await startDelays(50_000, 3_000), await startDelays(50_000)]).toEqual([[3_000], [3_000]])
    clock.advance(3_000)
    expect(await startDelays(50_000, 3_000)).toEqual([0])
    while (await world.replica(async () => undefined, { everyMs: 50_000 }).runOne());
    expect(await startDelays(50_000)).toEqual([50_000])
    expect(await startDelays(5_000)).toEqual([5_000])
    expect(await startDelays(50_000)).toEqual([5_000])
  })

  each('a clock set back delays jobs by at most a lease', async (world) => {
    const { clock, enqueue, replica, left } = world
    let times = 0
    const recurring = replica(async () => void times++, { everyMs: 5_000 })
    await recurring.start()
    await recurring.stop()
    while (await recurring.runOne());
    const before = times
    clock.advance(-leaseMs)
    expect(await recurring.runOne()).toBe(false)
    clock.advance(-3_600_000)
    expect(await recurring.runOne()).toBe(true)
    expect(await recurring.runOne()).toBe(false)
    expect(times).toBe(before + 1)
    await world.database.deleteFrom('jobs').execute()
    await enqueue({})
    clock.advance(-3_600_000)
    expect(await replica(async () => undefined).runOne()).toBe(true)
    expect(await left()).toEqual([])
  })

  each('enqueueJobs adds each job of a list, which can be empty', async ({ database, clock, left }) => {
    const job = { kind: 'test', payload: {}, at: clock.now() }
    for (const count of [0, 3]) await enqueueJobs(database, ids, Array(count).fill(job))
    expect(await left()).toHaveLength(3)
  })

  each('stop returns running jobs without counting the attempt', async ({ replica, enqueue, left }) => {
    await enqueue({})
    const started = Promise.withResolvers<void>()
    const stopping = replica(async (_payload, { signal }) => {
      started.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new Error('stopped')
    })
    await stopping.start()
    await started.promise
    await stopping.stop()
    expect(await left()).toMatchObject([{ status: 'WAITING', attempts: 0 }])
  })
})

type World = ReturnType<typeof worldOf>

/** Fails while `isCutOff` returns true. */
function withOutages(database: TestStore['database'], isCutOff: () => boolean) {
  return database.withPlugin({
    transformQuery: ({ node }) => {
      if (isCutOff()) throw new Error('store unavailable')
      return node
    },
    transformResult: async ({ result }) => result,
  })
}

function worldOf(database: TestStore['database']) {
  const clock: TestClock = testClock()
  const failures: unknown[] = []
  return {
    database,
    clock,
    failures,
    enqueue: (payload: object) => enqueueJob(database, ids, { kind: 'test', payload, at: clock.now() }),
    left: () => database.selectFrom('jobs').selectAll().execute(),
    replica: (
      work: JobKind['work'],
      { concurrency = 1, ...changed }: Partial<JobKind> & { concurrency?: number } = {},
      store = database,
    ) =>
      createJobRunner({
        database: store,
        clock,
        ids,
        settings: { concurrency, pollMs: 10, leaseMs },
        kinds: [{ name: 'test', attempts: 3, work, ...changed }],
        onFailure: (failure) => failures.push(failure),
        onDropped: () => undefined,
      }),
  }
}
