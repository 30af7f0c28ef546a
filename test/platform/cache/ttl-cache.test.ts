import { expect, test } from 'vitest'
import { createTtlCache } from '../../../src/platform/cache/index.ts'
import { testClock } from '../../identity/clock.ts'

const created = (max = 10) => {
  const clock = testClock()
  const lease = createTtlCache<number>(clock, { ms: 1_000, max })
  let asked = 0
  return { clock, lease, ask: async () => ++asked, asked: () => asked }
}

test('an answer serves until its time is over, to the millisecond, and not before its time where the clock is set back', async () => {
  const { clock, lease, ask } = created()
  expect(await lease.read('a', ask)).toBe(1)
  clock.advance(999)
  expect(lease.read('a', ask)).toBe(1)
  clock.advance(1)
  expect(await lease.read('a', ask)).toBe(2)
  clock.advance(-1)
  expect(await lease.read('a', ask)).toBe(3)
})

test('an answer’s time counts from when it was asked for, however late it comes', async () => {
  const { clock, lease, ask } = created()
  const late = Promise.withResolvers<number>()
  const read = lease.read('a', () => late.promise)
  clock.advance(900)
  late.resolve(7)
  expect(await read).toBe(7)
  expect(lease.read('a', ask)).toBe(7)
  clock.advance(100)
  expect(await lease.read('a', ask)).toBe(1)
})

test('whoever asks meanwhile waits for the same answer; one that fails is not kept', async () => {
  const { lease, ask, asked } = created()
  const failing = Promise.withResolvers<number>()
  const reads = [lease.read('a', () => failing.promise), lease.read('a', ask)]
  failing.reject(new Error('not there'))
  for (const read of reads) await expect(read).rejects.toThrow('not there')
  expect(asked()).toBe(0)
  expect(await lease.read('a', ask)).toBe(1)
})

test('an answer that was under way when its key was forgotten is neither used again nor takes the next one along', async () => {
  const { lease, ask, asked } = created()
  const [come, failed] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
  const before = [lease.read('a', () => come.promise), lease.read('b', () => failed.promise)]
  lease.invalidate('a')
  lease.clear()
  expect([await lease.read('a', ask), await lease.read('b', ask)]).toEqual([1, 2])
  come.resolve(7)
  failed.reject(new Error('too late'))
  expect((await Promise.allSettled(before)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect([lease.read('a', ask), lease.read('b', ask), asked()]).toEqual([1, 2, 2])
})

test('what is forgotten is asked for anew, by its key and all of it', async () => {
  const { lease, ask } = created()
  for (const key of ['a', 'b']) await lease.read(key, ask)
  lease.invalidate('a')
  expect([await lease.read('a', ask), lease.read('b', ask)]).toEqual([3, 2])
  lease.clear()
  expect([await lease.read('a', ask), await lease.read('b', ask)]).toEqual([4, 5])
})

test('at its most keys the least recently used one is lost', async () => {
  const { lease, ask } = created(2)
  for (const key of ['a', 'b', 'c']) await lease.read(key, ask)
  expect([lease.read('c', ask), lease.read('b', ask), await lease.read('a', ask)]).toEqual([3, 2, 4])
})
