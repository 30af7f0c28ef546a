import { beforeEach, describe, expect, test } from 'vitest'
import { withChannelMetrics, withChannelSessionMetrics, withLimitMetrics } from '../../../src/compose/portal.ts'
import type { ChannelPort } from '../../../src/gateway/pipeline/ports.ts'
import {
  createBackgroundMetrics,
  createBatchedHistogram,
  createJobMetrics,
  createLedgerMetrics,
  createMetrics,
  createPerimeterMetrics,
  createQueueMetrics,
  type Metrics,
  type PerimeterMetrics,
} from '../../../src/platform/telemetry/index.ts'
import { limitPort } from '../../harness/limit-port.ts'

let metrics: Metrics
let perimeter: PerimeterMetrics
beforeEach(() => {
  metrics = createMetrics()
  perimeter = createPerimeterMetrics(metrics.registry)
})
async function exposed() {
  return (await metrics.expose()).text
}

test('requests are counted by operation and status, refusals by code', async () => {
  const outcome = { operation: 'wallets.list', status: 200, code: null }
  const refused = { operation: 'wallets.list', status: 403, code: 'ACCESS.PERMISSION_DENIED' }
  for (const each of [outcome, outcome, refused]) expect(metrics.startRequest()(each)).toBeGreaterThanOrEqual(0)
  const text = await exposed()
  expect(text).toContain('portico_request_duration_seconds_count{operation="wallets.list",status="200"} 2\n')
  expect(text).toContain('portico_request_duration_seconds_count{operation="wallets.list",status="403"} 1\n')
  expect(text).toContain('portico_refusals_total{operation="wallets.list",code="ACCESS.PERMISSION_DENIED"} 1\n')
  expect(text.match(/^portico_refusals_total\{/gm)).toHaveLength(1)
})

test('startRequest: records seconds and returns milliseconds', async () => {
  const stop = metrics.startRequest()
  const start = performance.now()
  while (performance.now() - start < 30);
  const ms = stop({ operation: 'wallets.list', status: 200, code: null })
  expect(ms).toBeGreaterThanOrEqual(30)
  const sum = /portico_request_duration_seconds_sum\{[^}]*\} (\S+)/.exec(await exposed())?.[1]
  expect(Number(sum)).toBeCloseTo(ms / 1_000, 9)
})

test('createBatchedHistogram: every observation is counted at the next scrape', async () => {
  const durations = createBatchedHistogram({
    name: 'tries_seconds',
    help: 'Tries',
    labels: ['place', 'outcome'],
    buckets: [0.1, 1],
    registry: metrics.registry,
  })
  const observe = (times: number, place: string, outcome: string, seconds: number) => {
    for (let time = 0; time < times; time++) durations.observe(place, outcome, seconds)
  }
  observe(2_500, 'here', 'ok', 0.0625)
  observe(3, 'here', 'late', 0.5)
  observe(2, 'there', 'ok', 5)
  const expectAll = async (first: number) => {
    const text = await exposed()
    expect(text).toContain(`tries_seconds_bucket{le="0.1",place="here",outcome="ok"} ${first}\n`)
    expect(text).toContain(`tries_seconds_sum{place="here",outcome="ok"} ${first * 0.0625}\n`)
    expect(text).toContain(`tries_seconds_count{place="here",outcome="ok"} ${first}\n`)
    expect(text).toContain('tries_seconds_bucket{le="0.1",place="here",outcome="late"} 0\n')
    expect(text).toContain('tries_seconds_bucket{le="1",place="here",outcome="late"} 3\n')
    expect(text).toContain('tries_seconds_bucket{le="1",place="there",outcome="ok"} 0\n')
    expect(text).toContain('tries_seconds_bucket{le="+Inf",place="there",outcome="ok"} 2\n')
  }
  await expectAll(2_500)
  await expectAll(2_500)
  observe(1, 'here', 'ok', 0.0625)
  await expectAll(2_501)
})

test('event loop lag and process memory are exposed', async () => {
  expect(await exposed()).toMatch(/^portico_nodejs_eventloop_lag_p99_seconds \S+$/m)
  expect(await exposed()).toMatch(/^portico_process_resident_memory_bytes \d+$/m)
})

test('the last ledger check and queue lengths, as of the scrape', async () => {
  const ledger = createLedgerMetrics(metrics.registry)
  let waiting = 1
  createQueueMetrics(metrics.registry, { 'password-hash': () => waiting, 'login-begin': () => 0 })
  ledger.checked(3, 1_767_614_400_000, 1_767_600_000_000)
  waiting = 7
  const text = await exposed()
  expect(text).toContain('portico_ledger_discrepancies 3\n')
  expect(text).toContain('portico_ledger_checked_timestamp_seconds 1767614400\n')
  expect(text).toContain('portico_ledger_whole_checked_timestamp_seconds 1767600000\n')
  expect(text).toContain('portico_waiting{queue="password-hash"} 7\n')
  expect(text).toContain('portico_waiting{queue="login-begin"} 0\n')
})

test('dropped background tasks: 0 at the start, read at each scrape', async () => {
  let givenUp = 0
  createBackgroundMetrics(metrics.registry, () => givenUp)
  expect(await exposed()).toContain('portico_background_given_up_total 0\n')
  givenUp = 2
  for (let time = 0; time < 2; time++) expect(await exposed()).toContain('portico_background_given_up_total 2\n')
})

test('dropped jobs: 0 at the start for each kind and reason', async () => {
  const jobs = createJobMetrics(metrics.registry, ['mails'])
  const expectCounts = async (limit: number, failed: number) => {
    const text = await exposed()
    expect(text).toContain(`portico_jobs_dropped_total{kind="mails",reason="limit"} ${limit}\n`)
    expect(text).toContain(`portico_jobs_dropped_total{kind="mails",reason="failed"} ${failed}\n`)
  }
  await expectCounts(0, 0)
  jobs.dropped('mails', 'limit')
  await expectCounts(1, 0)
})

describe('the perimeter metrics', () => {
  const counts = async (name: string) =>
    Object.fromEntries(
      [...(await exposed()).matchAll(new RegExp(`^${name}\\{\\w+="([^"]+)"\\} (\\d+)$`, 'gm'))].map(
        ([, label, count]) => [label, Number(count)],
      ),
    )
  const fails = () => Promise.reject(new Error('no'))

  test('count refused requests by limit, and no allowed ones', async () => {
    const spent = { limit: 1, remaining: 0, resetMs: 1 }
    const metered = withLimitMetrics(
      limitPort((name) => ({ ...spent, allowed: name === 'login' })),
      perimeter,
    )
    const spendOf = (name: string) => ({ name, key: 'key', rule: { limit: 1, windowMs: 1 } })
    for (const names of [['login', 'address'], ['address']]) await metered.spendAll(names.map(spendOf))
    expect(await counts('portico_limit_hits_total')).toEqual({ address: 2 })
  })

  test('count encrypted bodies, opened and refused', async () => {
    expect(await counts('portico_channel_bodies_total')).toEqual({ opened: 0, refused: 0 })
    let opens = true
    const seal = (text: string) => text
    const channel: ChannelPort = {
      sealer: async () => seal,
      open: () => (opens ? { plaintext: new Uint8Array(), seal } : undefined),
    }
    const { open } = withChannelMetrics(channel, perimeter)
    const bound = { portal: 'CONSUMER', clientHash: 'hash', requestId: 'id', method: 'POST', path: '/' } as const
    const sealed = { ...bound, sessionId: 'one', payload: 'sealed' }
    await open(sealed)
    opens = false
    for (let time = 0; time < 2; time++) expect(await open(sealed)).toBeUndefined()
    expect(await counts('portico_channel_bodies_total')).toEqual({ opened: 1, refused: 2 })
  })

  test('count channel sessions opened, refused and closed; a failed close is not counted', async () => {
    let works = true
    const handler = async () => (works ? null : fails())
    const table = withChannelSessionMetrics(
      new Map(['secureChannel.open', 'secureChannel.close'].map((id) => [id, handler])),
      perimeter,
    )
    const call = (id: string) => table.get(id)?.({} as never)
    for (const id of ['secureChannel.open', 'secureChannel.open', 'secureChannel.close']) await call(id)
    works = false
    for (const id of ['secureChannel.open', 'secureChannel.close']) await expect(call(id)).rejects.toThrow('no')
    expect(await counts('portico_channel_sessions_total')).toEqual({ opened: 2, refused: 1, closed: 1 })
  })
})
