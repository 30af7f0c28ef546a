import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { createUpstreamMetrics } from '../../../src/backends/index.ts'
import { createUpstreamPolicies } from '../../../src/backends/upstream/policy.ts'
import { UnreachableRefusal } from '../../../src/backends/upstream/reply.ts'
import { clientDisconnected } from '../../../src/gateway/pipeline/call.ts'
import { systemDurations } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { clientOf } from '../../harness/call.ts'
import { upstreamAt } from '../../harness/settings.ts'

const settings = upstreamAt('http://127.0.0.1:9', { concurrency: 2, queue: 1, breaker: { failures: 3, openMs: 5_000 } })
const unavailable = 'SYSTEM.UNAVAILABLE'

let registry: Registry
let ports: Parameters<typeof createUpstreamPolicies>[1]
let policies: ReturnType<typeof createUpstreamPolicies>
beforeEach(() => {
  registry = new Registry()
  ports = { metrics: createUpstreamMetrics(registry), durations: systemDurations }
  policies = createUpstreamPolicies(settings, ports)
})

async function readMetric(name: string): Promise<number | undefined> {
  return (await registry.getSingleMetric(`portico_upstream_breaker_${name}`)?.get())?.values[0]?.value
}

let calls = 0
/** Each call is from another network, unless the test names one. */
function callOf(clientIp = `203.0.${calls++}.1`, { signal } = new AbortController()) {
  return {
    caller: null,
    clientIp,
    client: clientOf(signal),
  }
}
type Run = typeof policies.whole
function tried(attempt: () => Promise<unknown>, run: Run = policies.whole, call = callOf()): Promise<string> {
  return refusalOf(run(call, attempt))
}
async function works() {
  return 'done'
}
function failFor(run: Run, address: string) {
  return tried(() => Promise.reject(new UnreachableRefusal(unavailable, {})), run, callOf(address))
}
async function openCircuit(run: Run) {
  for (const address of ['192.0.2.1', '198.51.100.2', '192.0.2.1']) await failFor(run, address)
}

function lasting() {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  let begun = false
  return {
    hasBegun: () => begun,
    end: () => resolve('done'),
    attempt: () => {
      begun = true
      return promise
    },
  }
}

describe('the concurrency limit of an upstream', () => {
  test('runs and queues up to the configured numbers of calls, and refuses others', async () => {
    const tries = [lasting(), lasting(), lasting()]
    const outcomes = tries.map(({ attempt }) => tried(attempt))
    expect(await tried(works)).toBe(unavailable)
    expect(tries.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false])
    tries[0]?.end()
    await expect.poll(() => tries[2]?.hasBegun()).toBe(true)
    for (const { end } of tries) end()
    expect(await Promise.all(outcomes)).toEqual(['none', 'none', 'none'])
  })

  test('streams have their own limit', async () => {
    const tries = [lasting(), lasting(), lasting()]
    const outcomes = tries.map(({ attempt }) => tried(attempt, policies.streamed))
    expect(await tried(works, policies.streamed)).toBe(unavailable)
    expect(await tried(works)).toBe('none')
    for (const { end } of tries) end()
    await Promise.all(outcomes)
  })

  test('never exceeds the number of connections', async () => {
    policies = createUpstreamPolicies({ ...settings, connections: 1 }, ports)
    const tries = [lasting(), lasting()]
    const outcomes = tries.map(({ attempt }) => tried(attempt))
    expect(await tried(works)).toBe(unavailable)
    expect(tries.map(({ hasBegun }) => hasBegun())).toEqual([true, false])
    for (const { end } of tries) end()
    await Promise.all(outcomes)
  })

  test('a call whose client disconnects leaves the queue immediately and is never tried', async () => {
    const tries = [lasting(), lasting(), lasting(), lasting()]
    const outcomes = tries.slice(0, 2).map(({ attempt }) => tried(attempt))
    const leaving = new AbortController()
    const left = tried(tries[2]?.attempt ?? works, policies.whole, callOf(undefined, leaving))
    leaving.abort(clientDisconnected())
    expect(await left).toBe('REQUEST.MALFORMED')
    outcomes.push(tried(tries[3]?.attempt ?? works))
    for (const { end } of tries) end()
    expect(await Promise.all(outcomes)).toEqual(['none', 'none', 'none'])
    expect(tries.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false, true])
  })
})

describe('one caller with many calls', () => {
  test.each(['whole', 'streamed'] as const)(
    'leaves a quarter of the slots and the queue to others: %s',
    async (kind) => {
      const { [kind]: run } = createUpstreamPolicies({ ...settings, concurrency: 4, connections: 4, queue: 4 }, ports)
      const flood = Array.from({ length: 9 }, () => lasting())
      const outcomes = flood.map(({ attempt }, index) => tried(attempt, run, callOf(`192.0.2.${index}`)))
      await expect.poll(() => flood.filter(({ hasBegun }) => hasBegun()).length).toBe(3)
      expect(await tried(works, run)).toBe('none')
      const others = [lasting(), lasting()]
      const waited = others.map(({ attempt }) => tried(attempt, run))
      await expect.poll(() => others.map(({ hasBegun }) => hasBegun())).toEqual([true, false])
      // The flood waits longer, so the first slot is its turn.
      for (const { end } of flood.slice(0, 2)) end()
      await expect.poll(() => others[1]?.hasBegun()).toBe(true)
      for (const { end } of [...flood, ...others]) end()
      expect(await Promise.all(waited)).toEqual(['none', 'none'])
      expect((await Promise.all(outcomes)).filter((outcome) => outcome === unavailable)).toHaveLength(3)
    },
  )
})

describe('the metrics of a circuit', () => {
  test('streams have their own circuit; the gauge shows the worse state, and openings are counted', async () => {
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([0, 0])
    await openCircuit(policies.streamed)
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([2, 1])
    expect(await tried(works)).toBe('none')
    expect(await tried(works, policies.streamed)).toBe(unavailable)
  })

  test('omit retired circuits and show the worse state of two with one URL', async () => {
    const other = createUpstreamPolicies({ ...settings, queue: 2 }, ports)
    await openCircuit(policies.whole)
    expect(await readMetric('state')).toBe(2)
    policies.retire()
    expect(await readMetric('state')).toBe(0)
    other.retire()
    expect(await readMetric('state')).toBe(undefined)
  })
})
