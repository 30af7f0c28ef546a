import { expect, test } from 'vitest'
import { createConcurrencyLimiter, untilNotFull } from '../../src/kernel/index.ts'

function controlled() {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const work = (name: string) => () => {
    begun.push(name)
    const end = Promise.withResolvers<void>()
    ends.set(name, end)
    return end.promise
  }
  return {
    begun,
    work,
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  }
}

test('ConcurrencyLimiter: runs up to the limit, queues in order, refuses when full; a failed task frees its slot', async () => {
  const { begun, work, end, fail } = controlled()
  const queue = createConcurrencyLimiter({ concurrency: 2, waiting: 2 })
  const results = ['a', 'b', 'c', 'd'].map((name) => queue.runLimited(work(name)))
  const failed = results[0]?.catch((error: Error) => error.message)
  await expect(queue.runLimited(work('e'))).rejects.toMatchObject({
    code: 'SYSTEM.UNAVAILABLE',
    detail: { retryAfter: 1 },
  })
  expect([begun, queue.waiting()]).toEqual([['a', 'b'], 2])
  fail('a')
  expect(await failed).toBe('a')
  await expect.poll(() => begun).toEqual(['a', 'b', 'c'])
  expect(queue.waiting()).toBe(1)
  for (const name of ['b', 'c']) end(name)
  await expect.poll(() => begun).toEqual(['a', 'b', 'c', 'd'])
  end('d')
  await Promise.all(results.slice(1))
  const more = ['f', 'g', 'h'].map((name) => queue.runLimited(work(name)))
  await expect.poll(() => begun.slice(4)).toEqual(['f', 'g'])
  for (const name of ['f', 'g']) end(name)
  await expect.poll(() => begun.slice(4)).toEqual(['f', 'g', 'h'])
  end('h')
  await Promise.all(more)
  expect(queue.waiting()).toBe(0)
})

test('ConcurrencyLimiter: a task whose signal aborts leaves the queue; one that runs is not affected', async () => {
  const { begun, work, end } = controlled()
  const queue = createConcurrencyLimiter({ concurrency: 1, waiting: 1 })
  const leaving = new AbortController()
  const first = queue.runLimited(work('a'), leaving.signal)
  const second = queue.runLimited(work('b'), leaving.signal)
  leaving.abort(new Error('left'))
  await expect(second).rejects.toThrow('left')
  await expect(queue.runLimited(work('c'), leaving.signal)).rejects.toThrow('left')
  expect(queue.waiting()).toBe(0)
  const third = queue.runLimited(work('d'))
  end('a')
  await first
  await expect.poll(() => begun).toEqual(['a', 'd'])
  end('d')
  await third
})

test('untilNotFull stops after a batch that is not full, or when the signal aborts', async () => {
  const batches = [3, 3, 2, 3]
  await untilNotFull(3, new AbortController().signal, async () => batches.shift() ?? 0)
  expect(batches).toEqual([3])
  const controller = new AbortController()
  await untilNotFull(3, controller.signal, async (size) => {
    controller.abort()
    return batches.push(size) && size
  })
  expect(batches).toEqual([3, 3])
})
