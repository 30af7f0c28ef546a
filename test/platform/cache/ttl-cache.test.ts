import { expect, test } from 'vitest'
import { createTtlCache } from '../../../src/platform/cache/index.ts'
import { testClock } from '../../identity/clock.ts'

function created(max = 10) {
  const clock = testClock()
  const cache = createTtlCache<number>(clock, { ms: 1_000, max })
  let loads = 0
  return { clock, cache, load: async () => ++loads, loads: () => loads }
}

test('read: cached for exactly the TTL, and not if the clock was set back', async () => {
  const { clock, cache, load } = created()
  expect(await cache.read('a', load)).toBe(1)
  clock.advance(999)
  expect(cache.read('a', load)).toBe(1)
  clock.advance(1)
  expect(await cache.read('a', load)).toBe(2)
  clock.advance(-1)
  expect(await cache.read('a', load)).toBe(3)
})

test('read: the TTL starts when the load starts', async () => {
  const { clock, cache, load } = created()
  const pending = Promise.withResolvers<number>()
  const read = cache.read('a', () => pending.promise)
  clock.advance(900)
  pending.resolve(7)
  expect(await read).toBe(7)
  expect(cache.read('a', load)).toBe(7)
  clock.advance(100)
  expect(await cache.read('a', load)).toBe(1)
})

test('read: concurrent reads share one load; errors are not cached', async () => {
  const { cache, load, loads } = created()
  const failing = Promise.withResolvers<number>()
  const reads = [cache.read('a', () => failing.promise), cache.read('a', load)]
  failing.reject(new Error('not there'))
  for (const read of reads) await expect(read).rejects.toThrow('not there')
  expect(loads()).toBe(0)
  expect(await cache.read('a', load)).toBe(1)
})

test('invalidate: a pending load neither stays cached nor replaces a later one', async () => {
  const { cache, load, loads } = created()
  const [pending, failed] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
  const before = [cache.read('a', () => pending.promise), cache.read('b', () => failed.promise)]
  cache.invalidate('a')
  cache.clear()
  expect([await cache.read('a', load), await cache.read('b', load)]).toEqual([1, 2])
  pending.resolve(7)
  failed.reject(new Error('too late'))
  expect((await Promise.allSettled(before)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect([cache.read('a', load), cache.read('b', load), loads()]).toEqual([1, 2, 2])
})

test('invalidate and clear: the next read loads again', async () => {
  const { cache, load } = created()
  for (const key of ['a', 'b']) await cache.read(key, load)
  cache.invalidate('a')
  expect([await cache.read('a', load), cache.read('b', load)]).toEqual([3, 2])
  cache.clear()
  expect([await cache.read('a', load), await cache.read('b', load)]).toEqual([4, 5])
})

test('read: evicts the least recently used key beyond the maximum', async () => {
  const { cache, load } = created(2)
  for (const key of ['a', 'b', 'c']) await cache.read(key, load)
  expect([cache.read('c', load), cache.read('b', load), await cache.read('a', load)]).toEqual([3, 2, 4])
})
