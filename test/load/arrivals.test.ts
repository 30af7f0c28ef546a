import { expect, test } from 'vitest'
import { type Arrivals, constantRate, dueTimes, rampUp, runArrivals, type Stage } from '../../src/load/arrivals.ts'

/** Runs arrivals on a virtual clock that only `pause` advances. `stalls` are additional delays by number of the pause. */
async function runVirtually(
  stages: readonly Stage[],
  start: Arrivals['start'],
  options: { maxInFlight?: number; stalls?: Record<number, number> } = {},
) {
  let time = 1_000
  let pauses = 0
  let dropped = 0
  await runArrivals({
    stages,
    maxInFlight: options.maxInFlight ?? 1_000,
    now: () => time,
    pause: async (milliseconds) => {
      time += milliseconds + (options.stalls?.[pauses++] ?? 0)
    },
    start,
    drop: () => {
      dropped += 1
    },
  })
  return { now: () => time, dropped }
}

test('constantRate: requests are due at equal distances', () => {
  expect([...dueTimes(constantRate(4, 1.5))]).toEqual([0, 250, 500, 750, 1_000, 1_250])
  expect([...dueTimes(constantRate(0.5, 3))]).toEqual([0, 2_000])
})

test('rampUp: the rate rises in five equal steps up to the full rate', () => {
  const due = [...dueTimes(rampUp(50, 5))]
  const perSecond = [0, 1, 2, 3, 4].map((second) => due.filter((at) => Math.floor(at / 1_000) === second).length)
  expect(perSecond).toEqual([10, 20, 30, 40, 50])
})

test('runArrivals: a slow response does not delay later requests', async () => {
  const starts: number[] = []
  const pending = Promise.withResolvers<void>()
  const run = runVirtually(constantRate(100, 1), async (due) => {
    starts.push(due - 1_000)
    if (starts.length === 1) await pending.promise
    if (starts.length === 100) pending.resolve()
  })
  await run
  expect(starts).toEqual(Array.from({ length: 100 }, (_, index) => index * 10))
})

test('runArrivals: after a stall, overdue requests keep their scheduled times (no coordinated omission)', async () => {
  const times = { due: [] as number[] }
  const { now } = await runVirtually(
    constantRate(100, 1),
    async (due) => {
      times.due.push(due - 1_000)
    },
    { stalls: { 10: 500 } },
  )
  expect(times.due).toEqual(Array.from({ length: 100 }, (_, index) => index * 10))
  // The stall is not added to the schedule: the last request is due after 990 ms.
  expect(now() - 1_000).toBeCloseTo(990)
})

test('runArrivals: requests above the limit are dropped, and the run waits for the unfinished ones', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let finished = 0
  setTimeout(resolve, 20)
  const { dropped } = await runVirtually(
    constantRate(10, 1),
    async () => {
      await promise
      finished += 1
    },
    { maxInFlight: 3 },
  )
  expect([finished, dropped]).toEqual([3, 7])
})
