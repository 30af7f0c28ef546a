import { expect, test, vi } from 'vitest'
import { createLimits } from '../../src/platform/limits/limits.ts'
import { systemClock } from '../../src/platform/runtime/index.ts'
import { testClock } from '../identity/clock.ts'

test('concurrent requests: exactly the limit is allowed', async () => {
  const limits = createLimits(() => 1, systemClock)
  const rule = { limit: 20, windowMs: 60_000 }
  const spent = await Promise.all(Array.from({ length: 100 }, () => limits.spend('test', 'somebody', rule)))
  expect(spent.filter(({ allowed }) => allowed)).toHaveLength(20)
  expect(spent.map(({ remaining }) => remaining).slice(0, 3)).toEqual([19, 18, 17])
  limits.close()
})

test('one limit with two windows: each has its own counter', async () => {
  const limits = createLimits(() => 1, systemClock)
  const minute = await limits.spend('login-address', 'CONSUMER:192.0.2.1', { limit: 1, windowMs: 60_000 })
  const hour = await limits.spend('login-address', 'SYSTEM:192.0.2.1', { limit: 1, windowMs: 3_600_000 })
  expect(minute.resetMs).toBeLessThanOrEqual(60_000)
  expect(hour.resetMs).toBeGreaterThan(60_000)
  limits.close()
})

test('a reload that changes scale, limit or window keeps the count', async () => {
  let scale = 1
  const limits = createLimits(() => scale, systemClock)
  const spend = (limit: number, windowMs: number) => limits.spend('test', 'somebody', { limit, windowMs })
  expect(await spend(10, 60_000)).toMatchObject({ remaining: 9 })
  scale = 2
  expect(await spend(10, 60_000)).toMatchObject({ limit: 20, remaining: 18 })
  expect(await spend(4, 60_000)).toMatchObject({ limit: 8, remaining: 5 })
  const longer = await spend(10, 3_600_000)
  expect(longer).toMatchObject({ remaining: 16 })
  expect(longer.resetMs).toBeLessThanOrEqual(60_000)
  const shorter = await spend(10, 1_000)
  expect(shorter).toMatchObject({ remaining: 15 })
  expect(shorter.resetMs).toBeLessThanOrEqual(1_000)
  expect(await limits.spend('test', 'another', { limit: 10, windowMs: 1_000 })).toMatchObject({ remaining: 19 })
  limits.close()
})

test.each([
  [1, 3, 3],
  [0.5, 5, 2],
  [0.1, 5, 1],
  [10, 3, 30],
])('a scale of %d turns a limit of %i into %i: rounded down, at least 1', async (scale, limit, scaled) => {
  const limits = createLimits(() => scale, systemClock)
  expect(await limits.spend('test', 'somebody', { limit, windowMs: 60_000 })).toMatchObject({ limit: scaled })
  limits.close()
})

test('remaining and resetMs are never negative', async () => {
  const clock = testClock()
  clock.set(systemClock.now())
  const limits = createLimits(() => 1, clock)
  const rule = { limit: 1, windowMs: 60_000 }
  const spend = () => limits.spend('test', 'somebody', rule)
  expect(await spend()).toMatchObject({ allowed: true, remaining: 0 })
  clock.advance(120_000)
  expect(await spend()).toMatchObject({ allowed: false, remaining: 0, resetMs: 0 })
  limits.close()
})

test('a clock set back by an hour: requests within the limit are allowed', async () => {
  vi.useFakeTimers()
  const limits = createLimits(() => 1, systemClock)
  const spend = () => limits.spend('test', 'somebody', { limit: 10, windowMs: 60_000 })
  await spend()
  vi.setSystemTime(Date.now() - 3_600_000)
  const spent: Awaited<ReturnType<typeof spend>>[] = []
  for (let minute = 0; minute < 30; minute += 1) {
    spent.push(await spend())
    vi.advanceTimersByTime(60_000)
  }
  expect(spent.filter(({ allowed, resetMs }) => !allowed || resetMs > 60_000)).toEqual([])
  limits.close()
  vi.useRealTimers()
})

test('a window longer than a timer’s maximum has its full length', async () => {
  vi.useFakeTimers()
  const limits = createLimits(() => 1, systemClock)
  const day = 86_400_000
  const spend = () => limits.spend('test', 'somebody', { limit: 1, windowMs: 60 * day })
  expect(await spend()).toMatchObject({ allowed: true })
  vi.advanceTimersByTime(10)
  expect(await spend()).toMatchObject({ allowed: false })
  vi.advanceTimersByTime(60 * day - 11)
  expect(await spend()).toMatchObject({ allowed: false, resetMs: 1 })
  vi.advanceTimersByTime(1)
  expect(await spend()).toMatchObject({ allowed: true, resetMs: 60 * day })
  limits.close()
  vi.useRealTimers()
})

const address = { name: 'address', key: '192.0.2.1', rule: { limit: 3, windowMs: 60_000 } }

test('admit: up to the limit per window in this process, without any result of the shared counter', () => {
  const clock = testClock()
  const limits = createLimits(() => 1, clock)
  const admitted = () => Array.from({ length: 5 }, () => limits.admit(address).allowed)
  expect(admitted()).toEqual([true, true, true, false, false])
  expect(limits.admit({ ...address, key: '192.0.2.2' })).toMatchObject({ allowed: true, limit: 3, remaining: 2 })
  clock.advance(59_999)
  expect(limits.admit(address)).toMatchObject({ allowed: false, remaining: 0, resetMs: 1 })
  clock.advance(1)
  expect(admitted()).toEqual([true, true, true, false, false])
  clock.advance(-3_600_000)
  expect(limits.admit(address)).toMatchObject({ allowed: true, remaining: 2, resetMs: 60_000 })
  limits.close()
})

test('admit: follows the shared counter, which replaces its count and its window', async () => {
  const clock = testClock()
  let totalHits = 0
  const shared = async () => [{ totalHits, resetMs: 20_000 }]
  const counted = async (hits: number) => {
    totalHits = hits
    await limits.spendAll([address, address])
  }
  const storeFor = () => expect.fail()
  const limits = createLimits(() => 1, clock, { storeFor, countInOrder: shared })
  expect(limits.admit(address)).toMatchObject({ allowed: true, remaining: 2 })
  await counted(4)
  expect(limits.admit(address)).toMatchObject({ allowed: false, resetMs: 20_000 })
  await counted(1)
  expect(limits.admit(address)).toMatchObject({ allowed: true, remaining: 1 })
  await counted(4)
  clock.advance(20_000)
  expect(limits.admit(address)).toMatchObject({ allowed: true, remaining: 2 })
  limits.close()
})

test('admit: 100,000 addresses use bounded memory, and the newest are still counted', () => {
  const limits = createLimits(() => 1, testClock())
  const keyed = (index: number) => ({ ...address, key: `address ${index}` })
  for (let index = 0; index < 100_000; index++) limits.admit(keyed(index))
  expect(limits.admit(keyed(99_999))).toMatchObject({ remaining: 1 })
  expect(limits.admit(keyed(0))).toMatchObject({ remaining: 2 })
  limits.close()
})

test('two limits with the same key: separate counters', async () => {
  const limits = createLimits(() => 1, systemClock)
  const rule = { limit: 1, windowMs: 60_000 }
  for (const name of ['login', 'general'])
    expect(await limits.spend(name, '192.0.2.1', rule)).toMatchObject({ allowed: true })
  limits.close()
})

test('addressKey: the prefix of an IPv6 address, a whole IPv4 address', () => {
  const limits = createLimits(() => 1, systemClock)
  const [one, same, other] = ['2001:db8:1:100::1', '2001:db8:1:1ff::2', '2001:db8:1:200::1']
  const key = limits.addressKey
  expect(key(one)).toBe(key(same))
  expect(key(one)).not.toBe(key(other))
  expect(key('192.0.2.1')).not.toBe(key('192.0.2.2'))
  limits.close()
})

test('networkKey: an IPv4 /24 or an IPv6 /48', () => {
  const limits = createLimits(() => 1, systemClock)
  expect(limits.networkKey('192.0.2.1')).toBe(limits.networkKey('192.0.2.254'))
  expect(limits.networkKey('192.0.2.1')).not.toBe(limits.networkKey('192.0.3.1'))
  expect(limits.networkKey('2001:db8:1:1::1')).toBe(limits.networkKey('2001:db8:1:ffff::1'))
  expect(limits.networkKey('2001:db8:1::1')).not.toBe(limits.networkKey('2001:db8:2::1'))
  limits.close()
})
