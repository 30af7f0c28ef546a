import { expect, test } from 'vitest'
import { Histogram, Measurements, success } from '../../src/load/measurements.ts'

test('Histogram: percentiles are at most 2 % above the exact ones, from microseconds to minutes', () => {
  const histogram = new Histogram()
  const values = Array.from({ length: 10_000 }, (_, index) => 0.005 * 1.0018 ** index)
  for (const value of values.toReversed()) histogram.record(value)
  for (const share of [0.001, 0.5, 0.9, 0.99, 0.999]) {
    const exact = values[Math.ceil(share * values.length) - 1] ?? Number.NaN
    expect(histogram.percentile(share) / exact).toBeGreaterThanOrEqual(0.9999)
    expect(histogram.percentile(share) / exact).toBeLessThanOrEqual(1.0201)
  }
  expect(histogram.percentile(1)).toBe(values.at(-1))
  expect(new Histogram().percentile(0.99)).toBe(0)
})

test('Measurements: latency counts from the scheduled start, and every request is in each breakdown', () => {
  const measurements = new Measurements(0, 10)
  for (let index = 0; index < 100; index++) {
    measurements.schedule()
    // The target stalls from second 5 to second 6: the requests of that time are answered at its end.
    const due = index * 100
    const end = due >= 5_000 && due < 6_000 ? 6_000 : due + 5
    measurements.record(index % 2 ? 'a' : 'b', due, end, index === 0 ? '503 GATEWAY.UNAVAILABLE' : success)
    if (index > 0) measurements.complete()
  }
  measurements.schedule()
  measurements.drop()
  const figures = measurements.figures()
  expect(figures).toMatchObject({ requests: 100, errors: 1, dropped: 1, plannedRate: 10.1, max: 1_000 })
  expect(figures.achievedRate).toBeCloseTo(9.9)
  expect(figures.p50).toBeLessThan(5.2)
  expect(figures.p99).toBeGreaterThan(890)
  expect(figures.outcomes).toEqual({ 200: 99, '503 GATEWAY.UNAVAILABLE': 1 })
  expect(figures.operations.map(({ operation, requests }) => [operation, requests])).toEqual([
    ['a', 50],
    ['b', 50],
  ])
  expect(figures.intervals.map(({ requests }) => requests)).toEqual(Array.from({ length: 10 }, () => 10))
  expect(figures.intervals[5]?.p99).toBeGreaterThan(990)
})
