import { afterEach, expect, test, vi } from 'vitest'
import { shareRun } from '../../../src/gateway/operations/shared-run.ts'

afterEach(() => void vi.useRealTimers())

test('shareRun: callers at the same time share a run; a failure is not kept', async () => {
  const runs: PromiseWithResolvers<number>[] = []
  const shared = shareRun(() => {
    const run = Promise.withResolvers<number>()
    runs.push(run)
    return run.promise
  })
  const both = Promise.allSettled([shared.now(), shared.recent()])
  runs[0]?.reject(new Error('planted'))
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const next = shared.recent()
  runs[1]?.resolve(2)
  expect(await next).toBe(2)
  expect(runs).toHaveLength(2)
})

test('shareRun: `recent` reuses a result for 5 seconds, `now` never', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let runs = 0
  const shared = shareRun(async () => ++runs)
  expect([await shared.now(), await shared.recent()]).toEqual([1, 1])
  vi.advanceTimersByTime(4_999)
  expect(await shared.recent()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await shared.recent()).toBe(2)
  expect(await shared.now()).toBe(3)
})
