import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { type Instant, type Portal, toInstant } from '../../../src/kernel/index.ts'
import { createApprovalMetrics } from '../../../src/platform/telemetry/index.ts'
import { testClock } from '../../identity/clock.ts'

type Pending = ReadonlyMap<Portal, { accounts: number; since: Instant }>

/** Accounts of the consumer portal that registered an hour before the start of the clock. */
function consumers(accounts: number): Pending {
  return new Map([['CONSUMER', { accounts, since: toInstant(Date.UTC(2026, 0, 5, 11)) }]])
}

function setUp(count: () => Promise<Pending>) {
  const clock = testClock()
  const registry = new Registry()
  const onFault = vi.fn()
  createApprovalMetrics(registry, { portals: ['CONSUMER', 'SYSTEM'], count, clock, onFault })
  const scrape = async () => {
    const text = await registry.metrics()
    return [...text.matchAll(/^portico_accounts_awaiting_approval\{portal="(\w+)"\} (\d+)$/gm)].map(
      ([, portal, value]) => `${portal} ${value}`,
    )
  }
  return { clock, onFault, scrape, registry }
}

test('portico_accounts_awaiting_approval_seconds: age of the oldest registration, 0 without one', async () => {
  const { registry } = setUp(async () => consumers(2))
  const text = await registry.metrics()
  expect(text).toContain('portico_accounts_awaiting_approval_seconds{portal="CONSUMER"} 3600\n')
  expect(text).toContain('portico_accounts_awaiting_approval_seconds{portal="SYSTEM"} 0\n')
})

test('portico_accounts_awaiting_approval: a count per portal, queried at most every 5 s', async () => {
  const count = vi.fn(async () => consumers(count.mock.calls.length))
  const { clock, scrape } = setUp(count)
  expect(await Promise.all([scrape(), scrape()])).toEqual(Array(2).fill(['CONSUMER 1', 'SYSTEM 0']))
  clock.advance(4_999)
  expect(await scrape()).toEqual(['CONSUMER 1', 'SYSTEM 0'])
  expect(count).toHaveBeenCalledTimes(1)
  clock.advance(1)
  expect(await scrape()).toEqual(['CONSUMER 2', 'SYSTEM 0'])
  // A clock that is set back does not stop the refresh.
  clock.advance(-3_600_000)
  expect(await scrape()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
})

test('portico_accounts_awaiting_approval: keeps the last count if the store fails or hangs', async () => {
  const results = [Promise.resolve(consumers(3)), Promise.reject(new Error('gone'))]
  const hanging = new Promise<never>(() => undefined)
  const count = vi.fn(() => results.shift() ?? hanging)
  const { clock, onFault, scrape } = setUp(count)
  expect(await scrape()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  clock.advance(5_000)
  expect(await scrape()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  expect(onFault).toHaveBeenCalledTimes(1)
  clock.advance(5_000)
  expect(await scrape()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  // No second query starts while one is pending.
  clock.advance(5_000)
  await scrape()
  expect(count).toHaveBeenCalledTimes(3)
})
