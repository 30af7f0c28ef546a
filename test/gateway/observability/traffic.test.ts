import { expect, test } from 'vitest'
import { listTransfers } from '../../../src/banking/transfers/contract.ts'
import { createTraffic } from '../../../src/gateway/observability/traffic.ts'
import { toMinuteViews } from '../../../src/gateway/observations/overview.ts'
import { hours, minutes, toInstant } from '../../../src/kernel/index.ts'
import { arrivedCall } from '../../harness/call.ts'

function movableTraffic(start = Date.UTC(2026, 2, 2, 9, 30)) {
  let now = start
  const traffic = createTraffic({ now: () => toInstant(now) })
  const record = (status: number | null, ms = 10) => traffic.record({ call: null, status, ms })
  return {
    traffic,
    record,
    pass: (ms: number) => {
      now += ms
    },
    views: (...others: unknown[]) =>
      toMinuteViews(
        [{ replica: 'one', result: traffic.read() }, ...others.map((result) => ({ replica: 'x', result }))],
        toInstant(now),
      ),
  }
}

test('traffic counts the requests of each minute by outcome', () => {
  const { record, pass, views } = movableTraffic()
  for (const status of [200, 302, 404, 429, 500, 503, null]) record(status)
  pass(minutes(1))
  record(200)
  const [before, current] = views().slice(-2)
  expect(before).toMatchObject({
    at: '2026-03-02T09:30:00.000Z',
    ...{ requests: 7, failed: 2, refused: 2, abandoned: 1 },
  })
  expect(current).toMatchObject({ at: '2026-03-02T09:31:00.000Z', requests: 1, failed: 0 })
})

test('traffic returns 60 minutes, and forgets older ones', () => {
  const { record, pass, traffic, views } = movableTraffic()
  record(200)
  pass(minutes(59))
  expect(views()).toHaveLength(60)
  expect(views()[0]).toMatchObject({ requests: 1 })
  pass(minutes(1))
  expect(traffic.read()).toEqual([])
  pass(hours(5))
  record(200)
  expect(traffic.read()).toMatchObject([{ requests: 1 }])
})

test('the 99th percentile is at most a tenth above the true one, over all replicas', () => {
  const [one, two] = [movableTraffic(), movableTraffic()]
  for (let count = 0; count < 985; count += 1) one.record(200, 5)
  for (let count = 0; count < 15; count += 1) two.record(200, 800)
  expect(one.views().at(-1)?.p99Ms).toBeCloseTo(5, 0)
  const merged = one.views(two.traffic.read()).at(-1)
  expect(merged?.requests).toBe(1_000)
  expect(merged?.p99Ms).toBeGreaterThanOrEqual(800)
  expect(merged?.p99Ms).toBeLessThan(880)
})

test.each([0, 0.05, 0.1, 1, 99_999, 1e9])('a duration of %d ms is counted', (ms) => {
  const { record, views } = movableTraffic()
  record(200, ms)
  expect(views().at(-1)?.p99Ms).toBeGreaterThanOrEqual(Math.min(ms, 100_000))
})

test('streams and abandoned requests have no duration', () => {
  const { traffic, record, views } = movableTraffic()
  record(null, 60_000)
  const call = Object.assign(arrivedCall(listTransfers), { streamEnd: 'client' as const })
  traffic.record({ call, status: 200, ms: 60_000 })
  expect(views().at(-1)).toMatchObject({ requests: 2, p99Ms: null })
})

test('an answer of another version is ignored', () => {
  const { record, views } = movableTraffic()
  record(200)
  expect(views(null, [{ minute: 'x' }]).at(-1)).toMatchObject({ requests: 1 })
})

test('an answer with a whole hour of every duration fits into a message between replicas', () => {
  const { traffic, record, pass } = movableTraffic()
  for (let minute = 0; minute < 60; minute += 1) {
    for (let ms = 0.05; ms < 200_000; ms *= 1.05) record(200, ms)
    pass(minutes(1))
  }
  pass(-minutes(1))
  expect(traffic.read()).toHaveLength(60)
  // replicas.ts: maxMessageLength. A count can have six more digits.
  expect(JSON.stringify(traffic.read()).length + 60 * 150 * 6).toBeLessThan(262_144)
})
