import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { readinessOfWorkers } from '../../../src/gateway/operations/workers/health.ts'
import { describeMetrics, SummedMetrics } from '../../../src/gateway/operations/workers/metrics.ts'

/** The reply of a worker that has served this many requests. */
async function replyOf(requests: number, gauges: { open?: number; free?: number } = {}): Promise<Buffer> {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'requests_total', help: 'requests', registers }).inc(requests)
  const durations = new Histogram({ name: 'seconds', help: 'seconds', buckets: [1], registers })
  for (let count = 0; count < requests; count += 1) durations.observe(0.5)
  new Gauge({ name: 'open', help: 'open', aggregator: 'sum', registers }).set(gauges.open ?? 0)
  new Gauge({ name: 'free', help: 'free', aggregator: 'min', registers }).set(gauges.free ?? Number.NaN)
  const exemplars = new Map([['seconds_bucket{le="1"}', `{trace_id="${requests}"} 0.5 1`]])
  const expose = async () => ({ contentType: registry.contentType, text: await registry.metrics(), exemplars })
  return Buffer.from(JSON.stringify(await describeMetrics({ registry, expose })))
}

function sampleOf(text: string, series: string): string | undefined {
  return text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1)
}

test('counters and histograms are added up, and gauges by their own rule', async () => {
  const summed = new SummedMetrics()
  const { text } = await summed.sum([
    { pid: 1, body: await replyOf(2, { open: 3, free: 5 }) },
    { pid: 2, body: await replyOf(4, { open: 1, free: 9 }) },
  ])
  const values = ['requests_total', 'seconds_count', 'seconds_bucket{le="1"}', 'open', 'free'].map((series) =>
    sampleOf(text, series),
  )
  expect(values).toEqual(['6', '6', '6', '4', '5'])
})

test('a value that JSON cannot represent stays NaN', async () => {
  const { text } = await new SummedMetrics().sum([{ pid: 1, body: await replyOf(1) }])
  expect(sampleOf(text, 'free')).toBe('Nan')
})

test('the counts of a dead worker stay, once, and its gauges go', async () => {
  const summed = new SummedMetrics()
  const living = { pid: 2, body: await replyOf(4, { open: 1 }) }
  await summed.sum([{ pid: 1, body: await replyOf(2, { open: 3 }) }, living])
  const silent = await summed.sum([{ pid: 1, body: null }, living])
  expect([sampleOf(silent.text, 'requests_total'), sampleOf(silent.text, 'open')]).toEqual(['6', '1'])
  const successor = { pid: 3, body: await replyOf(10, { open: 2 }) }
  for (let scrape = 0; scrape < 3; scrape += 1) {
    const { text } = await summed.sum([living, successor])
    expect([sampleOf(text, 'requests_total'), sampleOf(text, 'open')]).toEqual(['16', '3'])
  }
  const last = await summed.sum([successor])
  expect(sampleOf(last.text, 'requests_total')).toBe('16')
})

test('concurrent scrapes both have the counts of a worker that has just died', async () => {
  const summed = new SummedMetrics()
  const living = { pid: 2, body: await replyOf(4) }
  await summed.sum([{ pid: 1, body: await replyOf(2) }, living])
  const both = await Promise.all([summed.sum([living]), summed.sum([living])])
  expect(both.map(({ text }) => sampleOf(text, 'requests_total'))).toEqual(['6', '6'])
})

test('no worker: only the counts of dead ones', async () => {
  const summed = new SummedMetrics()
  expect((await summed.sum([])).text.trim()).toBe('')
  await summed.sum([{ pid: 1, body: await replyOf(2) }])
  expect(sampleOf((await summed.sum([])).text, 'requests_total')).toBe('2')
})

test('exemplars of all workers are kept', async () => {
  const { exemplars } = await new SummedMetrics().sum([{ pid: 1, body: await replyOf(2) }])
  expect([...exemplars.keys()]).toEqual(['seconds_bucket{le="1"}'])
})

function answerOf(status: string, reasons?: Record<string, string>) {
  const body = Buffer.from(JSON.stringify({ status, checks: { store: reasons ? 'failed' : 'ok' }, reasons }))
  return { status: 200, headers: {}, body }
}

test('ready if one worker is ready, with the reasons of the others', () => {
  const answers = [
    { number: 1, answer: answerOf('unready', { store: 'away' }) },
    { number: 2, answer: answerOf('ready') },
    { number: 3, answer: null },
  ]
  expect(readinessOfWorkers(answers, [4], false)).toEqual({
    status: 'ready',
    checks: { store: 'ok' },
    workers: {
      1: { status: 'unready', checks: { store: 'failed' }, reasons: { store: 'away' } },
      2: { status: 'ready', checks: { store: 'ok' } },
      3: { status: 'unready', checks: {}, reasons: { worker: 'does not answer' } },
      4: { status: 'unready', checks: {}, reasons: { worker: 'is not started' } },
    },
  })
})

test('not ready if no worker is, and while all drain', () => {
  const unready = { number: 1, answer: answerOf('unready', { store: 'away' }) }
  expect(readinessOfWorkers([unready], [], false)).toMatchObject({ status: 'unready', checks: { store: 'failed' } })
  expect(readinessOfWorkers([{ number: 1, answer: answerOf('draining') }], [], false).status).toBe('draining')
  expect(readinessOfWorkers([], [1, 2], false).status).toBe('unready')
  expect(readinessOfWorkers([{ number: 1, answer: answerOf('ready') }], [], true).status).toBe('draining')
})
