import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Randomness } from '../../src/kernel/index.ts'
import { createBackgroundWork } from '../../src/platform/background-work.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'

const settings = { concurrency: 2, capacity: 5, spreadMs: 0, attempts: 3, retryMs: 1, closeMs: 200 }

function created(change: Partial<typeof settings> = {}, randomness: Pick<Randomness, 'integer'> = systemRandomness) {
  const logged: { level: string; line: object }[] = []
  const logger =
    (level: string) =>
    (line: unknown): void =>
      void logged.push({ level, line: Object(line) })
  const log = { warn: logger('warn'), error: logger('error') }
  const background = createBackgroundWork({ ...settings, ...change }, log, randomness)
  return { background, logged }
}

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, work: () => opened }
}

test('run: tasks beyond the concurrency wait; beyond the capacity they are dropped and logged', async () => {
  const { background, logged } = created()
  const gates = Array.from({ length: 7 }, gate)
  let begun = 0
  for (const { work } of gates)
    background.run('work', async () => {
      begun += 1
      await work()
    })
  expect(begun).toBe(0)
  await new Promise((resolve) => setTimeout(resolve, 10))
  expect(begun).toBe(2)
  expect(logged.map(({ level }) => level)).toEqual(['error', 'error'])
  expect(background.dropped()).toBe(2)
  for (const { open } of gates) open()
  await background.idle()
  expect(begun).toBe(5)
})

test('run: retries failures, logs an error after the last attempt, and never throws', async () => {
  const { background, logged } = created()
  let tries = 0
  background.run('heals', async () => {
    tries += 1
    if (tries < 3) throw new Error('not yet')
  })
  background.run('fails', () => Promise.reject(new Error('never')))
  background.run('throws', () => {
    throw new Error('synchronously')
  })
  await background.idle()
  expect(tries).toBe(3)
  const faults = logged.filter(({ level }) => level === 'error')
  expect(faults.map(({ line }) => Reflect.get(line, 'task')).sort()).toEqual(['fails', 'throws'])
  expect(background.dropped()).toBe(2)
})

test('close: waits for running tasks up to closeMs, and skips retry delays', async () => {
  const { background, logged } = created({ retryMs: 60_000, closeMs: 20_000 })
  let tries = 0
  background.run('fails', async () => {
    tries += 1
    throw new Error('no')
  })
  await new Promise((resolve) => setTimeout(resolve, 10))
  const started = performance.now()
  await background.close()
  expect(performance.now() - started).toBeLessThan(15_000)
  expect([tries, logged.at(-1)?.level]).toEqual([2, 'error'])
  background.run('late', async () => {
    tries += 1
  })
  await background.idle()
  expect([tries, background.dropped()]).toEqual([2, 2])
  const stuck = created({ closeMs: 50 })
  stuck.background.run('stuck', gate().work)
  await stuck.background.close()
})

test('run: at most `attempts` attempts, each delay twice the previous one', async () => {
  const { background } = created({ retryMs: 40 })
  const tries: number[] = []
  background.run('fails', async () => {
    tries.push(performance.now())
    throw new Error('no')
  })
  await background.idle()
  const [first = 0, second = 0, third = 0, ...more] = tries
  expect(more).toEqual([])
  // By this clock, a timer can fire a millisecond early.
  expect(second - first).toBeGreaterThan(38)
  expect(third - second).toBeGreaterThan(78)
})

test('run: a retry delay is capped at the maximum of a timer', async () => {
  const { background } = created({ retryMs: 2 ** 31 })
  let tries = 0
  background.run('fails', async () => {
    tries++
    throw new Error('no')
  })
  await pause(100)
  expect(tries).toBe(1)
  await background.close()
})

test('run: starts after a random delay up to and including spreadMs', async () => {
  const limits: number[] = []
  const integer = (limit: number): number => {
    limits.push(limit)
    return 60
  }
  const { background } = created({ spreadMs: 100 }, { integer })
  const startedAt = performance.now()
  let begun = 0
  background.run('work', async () => {
    begun = performance.now()
  })
  await background.idle()
  expect(limits).toEqual([101])
  expect(begun - startedAt).toBeGreaterThan(58)
})

test('idle waits for tasks that tasks have started; close leaves no timer', async () => {
  const { background } = created({ closeMs: 60_000 })
  const done: string[] = []
  background.run('first', async () => {
    background.run('second', async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      done.push('second')
    })
  })
  await background.idle()
  expect(done).toEqual(['second'])
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await background.close()
  expect(timers()).toBeLessThanOrEqual(before)
})
