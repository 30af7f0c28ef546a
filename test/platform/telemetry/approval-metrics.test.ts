import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import type { Portal } from '../../../src/kernel/index.ts'
import { createApprovalMetrics } from '../../../src/platform/telemetry/index.ts'
import { testClock } from '../../identity/clock.ts'

const scene = (count: () => Promise<ReadonlyMap<Portal, number>>) => {
  const clock = testClock()
  const registry = new Registry()
  const onFault = vi.fn()
  createApprovalMetrics(registry, { count, clock, onFault })
  const shown = async () => {
    const text = await registry.metrics()
    return [...text.matchAll(/^portico_accounts_awaiting_approval\{portal="(\w+)"\} (\d+)$/gm)].map(
      ([, portal, value]) => `${portal} ${value}`,
    )
  }
  return { clock, onFault, shown }
}

test('portico_accounts_awaiting_approval: a count per portal, asked for at scrapes and not at each', async () => {
  const count = vi.fn(async () => new Map<Portal, number>([['CONSUMER', count.mock.calls.length]]))
  const { clock, shown } = scene(count)
  expect(await Promise.all([shown(), shown()])).toEqual(Array(2).fill(['CONSUMER 1', 'SYSTEM 0']))
  clock.advance(4_999)
  expect(await shown()).toEqual(['CONSUMER 1', 'SYSTEM 0'])
  expect(count).toHaveBeenCalledTimes(1)
  clock.advance(1)
  expect(await shown()).toEqual(['CONSUMER 2', 'SYSTEM 0'])
  // A clock that is set back does not stop them.
  clock.advance(-3_600_000)
  expect(await shown()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
})

test('portico_accounts_awaiting_approval: a store that fails or hangs leaves the scrape whole, and what was last known', async () => {
  const answers = [Promise.resolve(new Map<Portal, number>([['CONSUMER', 3]])), Promise.reject(new Error('gone'))]
  const hanging = new Promise<never>(() => undefined)
  const count = vi.fn(() => answers.shift() ?? hanging)
  const { clock, onFault, shown } = scene(count)
  expect(await shown()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  clock.advance(5_000)
  expect(await shown()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  expect(onFault).toHaveBeenCalledTimes(1)
  clock.advance(5_000)
  expect(await shown()).toEqual(['CONSUMER 3', 'SYSTEM 0'])
  // It is asked no second time while it owes an answer.
  clock.advance(5_000)
  await shown()
  expect(count).toHaveBeenCalledTimes(3)
})
