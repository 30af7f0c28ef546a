import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemoryCache } from '../../../src/platform/cache/index.ts'
import { emptyWindow, type ReplayWindow, spendIn } from '../../../src/platform/cache/memory-cache.ts'
import { testClock } from '../../identity/clock.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
function heapUsed(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

describe('the memory cache', () => {
  test('increment: counts until the window closes', async () => {
    const clock = testClock()
    const cache = createMemoryCache(clock, 10)
    await cache.increment('a', 1_000)
    clock.advance(999)
    expect(await cache.increment('a', 1_000)).toEqual({ count: 2, remaining: 1 })
    clock.advance(1)
    expect(await cache.increment('a', 1_000)).toEqual({ count: 1, remaining: 1_000 })
  })

  test('increment: later counts do not extend the window', async () => {
    const clock = testClock()
    const cache = createMemoryCache(clock, 10)
    await cache.increment('a', 1_000)
    clock.advance(400)
    expect(await cache.increment('a', 1_000)).toEqual({ count: 2, remaining: 600 })
    clock.advance(600)
    expect(await cache.increment('a', 1_000)).toEqual({ count: 1, remaining: 1_000 })
  })

  test('increment: a clock set back at most doubles a window', async () => {
    const clock = testClock()
    const cache = createMemoryCache(clock, 10)
    await cache.increment('mails', 1_000)
    await cache.increment('mails', 1_000)
    clock.advance(-1_000)
    expect((await cache.increment('mails', 1_000)).count).toBe(3)
    clock.advance(-1)
    expect(await cache.increment('mails', 1_000)).toEqual({ count: 1, remaining: 1_000 })
  })

  test('evicts the least recently used entry beyond the maximum', async () => {
    const cache = createMemoryCache(testClock(), 2)
    for (const key of ['a', 'b', 'c']) await cache.increment(key, 1_000)
    const counts: number[] = []
    for (const key of ['c', 'b', 'a']) counts.push((await cache.increment(key, 1_000)).count)
    expect(counts).toEqual([2, 2, 1])
  })

  test('expired entries: evicted without being read', async () => {
    const clock = testClock()
    const cache = createMemoryCache(clock, 200_000)
    const before = heapUsed()
    for (let count = 0; count < 20_000; count++) {
      clock.advance(100)
      await cache.increment(`${count}`.padEnd(1_000), 1_000)
    }
    expect((await cache.increment('19999'.padEnd(1_000), 1_000)).count).toBe(2)
    // All entries would take 20 MB; ten are valid.
    expect(heapUsed() - before).toBeLessThan(5_000_000)
  })
})

describe('the replay windows of the memory cache', () => {
  const options = { epoch: 'one', max: 2, ttl: 1_000 }
  const window = { group: 'g', epoch: 'one', member: 'a' }
  const joined = (clock = testClock()) => {
    const cache = createMemoryCache(clock, 10)
    cache.joinGroup('g', options)
    return { cache, clock }
  }

  test('spend: each number once', async () => {
    const { cache } = joined()
    const spent = [cache.spend(window, 3, 64), cache.spend(window, 3, 64), cache.spend(window, 2, 64)]
    expect(spent).toEqual([true, false, true])
    expect(cache.spend({ ...window, member: 'b' }, 3, 64)).toBe(true)
  })

  test('isOpen and spend: false without a group, in another epoch, or once closed', async () => {
    const { cache } = joined()
    const closed = [
      { ...window, group: 'h' },
      { ...window, epoch: 'two' },
      { ...window, member: 'closed' },
    ]
    await cache.closeWindow({ ...window, member: 'closed' })
    for (const each of closed) expect([cache.isOpen(each), cache.spend(each, 1, 64)]).toEqual([false, false])
    expect([cache.isOpen(window), cache.spend(window, 1, 64)]).toEqual([true, true])
  })

  test('expire with their group, a TTL after its latest join', () => {
    const { cache, clock } = joined()
    clock.advance(999)
    expect(cache.spend(window, 1, 64)).toBe(true)
    expect(cache.joinGroup('g', { ...options, epoch: 'two' })).toBe('one')
    clock.advance(999)
    expect(cache.spend(window, 1, 64)).toBe(false)
    expect(cache.spend(window, 2, 64)).toBe(true)
    clock.advance(1)
    expect([cache.isOpen(window), cache.spend(window, 3, 64)]).toEqual([false, false])
  })

  test('stay closed when a lost group is created again', async () => {
    const { cache } = joined()
    expect(cache.spend(window, 1, 64)).toBe(true)
    await cache.close()
    expect(cache.joinGroup('g', { ...options, epoch: 'two' })).toBe('two')
    expect(cache.spend(window, 1, 64)).toBe(false)
  })

  test('joinGroup: undefined beyond the maximum number of members', () => {
    const { cache } = joined()
    expect([1, 2, 3].map(() => cache.joinGroup('g', options))).toEqual(['one', undefined, undefined])
    expect(cache.joinGroup('h', options)).toBe('one')
  })
})

describe('the replay window', () => {
  test('agrees with a set of spent numbers, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -2, max: 60 }), { maxLength: 200 }), (numbers) => {
        const size = 16
        const spent = new Set<number>()
        let window: ReplayWindow = emptyWindow
        for (const number of numbers) {
          const isFresh = number >= 1 && !spent.has(number) && number > Math.max(0, ...spent) - size
          const after = spendIn(window, number, size)
          expect(after !== undefined).toBe(isFresh)
          if (after) {
            window = after
            spent.add(number)
          }
          expect(window.bits < 1n << BigInt(size)).toBe(true)
        }
      }),
    )
  })

  test('rejects fractions, infinity and unsafe integers', () => {
    for (const number of [0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(spendIn(emptyWindow, number, 16)).toBeUndefined()
  })
})
