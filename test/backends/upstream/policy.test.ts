import { setTimeout as pause } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createUpstreamMetrics } from '../../../src/backends/index.ts'
import { createUpstreamPolicies, toUnavailable } from '../../../src/backends/upstream/policy.ts'
import { UpstreamRefusal } from '../../../src/backends/upstream/reply.ts'
import { type Code, Refusal } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../domains/world.ts'
import { upstreamAt } from '../../harness/settings.ts'

const url = 'http://127.0.0.1:9'
const openMs = 5_000
const settings = upstreamAt(url, { concurrency: 2, queue: 1, breaker: { failures: 3, openMs } })
const refusedAs = 'SYSTEM.UNAVAILABLE'

/** Fake timers stop the breaker's clock. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

let registry: Registry
let metrics: ReturnType<typeof createUpstreamMetrics>
let policies: ReturnType<typeof createUpstreamPolicies>
beforeEach(() => {
  registry = new Registry()
  metrics = createUpstreamMetrics(registry)
  policies = createUpstreamPolicies(settings, metrics)
})

const readMetric = async (name: string): Promise<number | undefined> =>
  (await registry.getSingleMetric(`portico_upstream_breaker_${name}`)?.get())?.values[0]?.value

type Within = (attempt: () => Promise<unknown>) => Promise<unknown>

/** `not tried` if the attempt was not started. */
const tried = async (attempt: () => Promise<unknown>, within: Within = policies.whole): Promise<string> => {
  const outcome = within(attempt).catch((error: unknown) => {
    if (toUnavailable(error)?.detail.retryAfter === 1) throw new Error('not tried')
    throw error
  })
  return refusalOf(outcome).catch((error: unknown) => (error instanceof Error ? error.message : 'no error'))
}
const fails = (code: Code = refusedAs) => Promise.reject(new Refusal(code))
const responses = () => Promise.reject(new UpstreamRefusal('SYSTEM.UPSTREAM_INVALID_RESPONSE'))
const works = async () => 'done'

const lasting = () => {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let begun = false
  return {
    hasBegun: () => begun,
    end: () => resolve('done'),
    fail: () => reject(new Refusal(refusedAs)),
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
    expect(await tried(works)).toBe('not tried')
    expect(tries.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false])
    tries[0]?.end()
    await expect.poll(() => tries[2]?.hasBegun()).toBe(true)
    for (const { end } of tries) end()
    expect(await Promise.all(outcomes)).toEqual(['none', 'none', 'none'])
  })

  test('streams have their own limit', async () => {
    const tries = [lasting(), lasting(), lasting()]
    const outcomes = tries.map(({ attempt }) => tried(attempt, policies.streamed))
    expect(await tried(works, policies.streamed)).toBe('not tried')
    expect(await tried(works)).toBe('none')
    for (const { end } of tries) end()
    await Promise.all(outcomes)
  })
})

describe('the circuit breaker of an upstream', () => {
  test.each<Code>(['SYSTEM.UPSTREAM_INVALID_RESPONSE', 'SYSTEM.UPSTREAM_TIMEOUT', 'SYSTEM.UNAVAILABLE'])(
    'opens after the configured number of consecutive failures, not earlier: %s',
    async (code) => {
      for (let count = 1; count <= 3; count++) expect(await tried(() => fails(code))).toBe(code)
      expect(await tried(works)).toBe('not tried')
    },
  )

  test('a reply ends the series of failures, a refusal too; an aborted request does not', async () => {
    const rows = [
      [responses, 'SYSTEM.UPSTREAM_INVALID_RESPONSE', 'none'],
      [works, 'none', 'none'],
      [() => fails('REQUEST.MALFORMED'), 'REQUEST.MALFORMED', 'not tried'],
    ] as const
    for (const [between, outcome, last] of rows) {
      policies = createUpstreamPolicies(settings, createUpstreamMetrics(new Registry()))
      for (let count = 1; count <= 2; count++) await tried(() => fails())
      expect(await tried(between)).toBe(outcome)
      await tried(() => fails())
      expect(await tried(works)).toBe(last)
    }
  })

  test('aborted requests never open it and do not interrupt a series', async () => {
    const leaves = () => tried(() => fails('REQUEST.MALFORMED'))
    for (let count = 1; count <= 3; count++) expect(await leaves()).toBe('REQUEST.MALFORMED')
    for (let count = 1; count <= 2; count++) await tried(() => fails())
    await leaves()
    expect(await tried(works)).toBe('none')
    await tried(() => fails())
    expect(await tried(works)).toBe('none')
  })

  test('one call tests the upstream; others are refused immediately', async () => {
    for (let count = 1; count <= 3; count++) await tried(() => fails())
    vi.setSystemTime(Date.now() + openMs)
    const first = lasting()
    const outcome = tried(first.attempt)
    await expect.poll(first.hasBegun).toBe(true)
    expect(await Promise.race([tried(works), pause(20_000, 'waits', { ref: false })])).toBe('not tried')
    first.end()
    expect(await outcome).toBe('none')
    expect(await tried(works)).toBe('none')
  })

  test.each<['end' | 'fail', string]>([
    ['end', 'none'],
    ['fail', refusedAs],
  ])('an attempt from before it opened (%s) keeps its result and does not affect the state', async (how, outcome) => {
    const old = lasting()
    const oldOutcome = tried(old.attempt)
    for (let count = 1; count <= 3; count++) await tried(() => fails())
    vi.setSystemTime(Date.now() + openMs)
    const first = lasting()
    const firstOutcome = tried(first.attempt)
    await expect.poll(() => readMetric('state')).toBe(1)
    old[how]()
    expect(await oldOutcome).toBe(outcome)
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([1, 1])
    first.end()
    expect([await firstOutcome, await readMetric('state')]).toEqual(['none', 0])
  })

  test('opens after the same number of failures once it has closed again', async () => {
    for (let count = 1; count <= 3; count++) await tried(() => fails())
    vi.setSystemTime(Date.now() + openMs)
    for (let count = 1; count <= 2; count++) expect(await tried(works)).toBe('none')
    for (let count = 1; count <= 2; count++) await tried(() => fails())
    expect(await readMetric('state')).toBe(0)
    await tried(() => fails())
    expect(await readMetric('state')).toBe(2)
  })

  test('streams have their own breaker; metrics show the worse state and count openings', async () => {
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([0, 0])
    for (let count = 1; count <= 3; count++) await tried(() => fails(), policies.streamed)
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([2, 1])
    expect(await tried(works)).toBe('none')
    expect(await tried(works, policies.streamed)).toBe('not tried')
    vi.setSystemTime(Date.now() + openMs)
    const first = lasting()
    const outcome = tried(first.attempt, policies.streamed)
    await expect.poll(() => readMetric('state')).toBe(1)
    first.end()
    await outcome
    expect([await readMetric('state'), await readMetric('opened_total')]).toEqual([0, 1])
  })

  test('metrics omit retired breakers and show the worse state of two with one URL', async () => {
    const other = createUpstreamPolicies({ ...settings, queue: 2 }, metrics)
    for (let count = 1; count <= 3; count++) await tried(() => fails())
    expect(await readMetric('state')).toBe(2)
    policies.retire()
    expect(await readMetric('state')).toBe(0)
    other.retire()
    expect(await readMetric('state')).toBe(undefined)
  })
})
