import { expect, test } from 'vitest'
import { type ConcurrencyLimits, createFairLimiter } from '../../src/kernel/index.ts'

function scene(limits: ConcurrencyLimits) {
  const limiter = createFairLimiter(limits)
  const begun: string[] = []
  const ends: PromiseWithResolvers<void>[] = []
  const run = (name: string, network: string, isKnown: boolean | Promise<boolean> = false) =>
    limiter.runLimited(
      () => {
        begun.push(name)
        const end = Promise.withResolvers<void>()
        ends.push(end)
        return end.promise
      },
      { network, isKnown: () => isKnown },
    )
  /** Ends the tasks in the order of their start until none waits, and returns the names in this order. */
  const order = async (): Promise<string[]> => {
    for (let ended = 0; ended < ends.length; ended++) {
      ends[ended]?.resolve()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return begun
  }
  return { limiter, begun, run, order }
}
function settle() {
  return new Promise((resolve) => setImmediate(resolve))
}
const unavailable = { code: 'SYSTEM.UNAVAILABLE', detail: { retryAfter: 1 } }

test('FairLimiter: a known client starts next, although the queue is full of unknown ones', async () => {
  const { limiter, run, order } = scene({ concurrency: 1, waiting: 8 })
  const all = [run('first', 'a')]
  for (const network of ['a', 'b', 'c', 'd']) for (const at of [1, 2]) all.push(run(`${network}${at}`, network))
  await settle()
  await expect(run('late', 'a')).rejects.toMatchObject(unavailable)
  all.push(run('known', 'a', Promise.resolve(true)))
  await settle()
  expect(limiter.waiting()).toBe(9)
  expect(await order()).toEqual(['first', 'known', 'a1', 'b1', 'c1', 'd1', 'a2', 'b2', 'c2', 'd2'])
  await Promise.all(all)
  expect(limiter.waiting()).toBe(0)
})

test('FairLimiter: one network can fill the queue, but gives its newest place to a network that waits less', async () => {
  const { limiter, run, order } = scene({ concurrency: 1, waiting: 4 })
  const all = [run('first', 'x')]
  for (const at of [1, 2, 3]) all.push(run(`flood${at}`, 'flood'))
  const evicted = run('flood4', 'flood').catch((error: unknown) => error)
  await settle()
  await expect(run('flood5', 'flood')).rejects.toMatchObject(unavailable)
  all.push(run('other', 'other'))
  expect(await evicted).toMatchObject(unavailable)
  expect(limiter.waiting()).toBe(4)
  expect(await order()).toEqual(['first', 'flood1', 'other', 'flood2', 'flood3'])
  await Promise.all(all)
  expect(limiter.waiting()).toBe(0)
})

test('FairLimiter: after three known clients, an unknown one starts', async () => {
  const { run, order } = scene({ concurrency: 1, waiting: 20 })
  const all = [run('first', 'x'), run('unknown', 'u')]
  for (const at of [1, 2, 3, 4, 5]) all.push(run(`known${at}`, 'k', true))
  await settle()
  expect(await order()).toEqual(['first', 'known1', 'known2', 'known3', 'unknown', 'known4', 'known5'])
  await Promise.all(all)
})

test('FairLimiter: asks who the client is only if it has to wait; a failed task frees its slot', async () => {
  const { limiter, run, order } = scene({ concurrency: 1, waiting: 4 })
  let asked = 0
  const isKnown = () => {
    asked += 1
    return false
  }
  await expect(limiter.runLimited(() => Promise.reject(new Error('x')), { network: 'a', isKnown })).rejects.toThrow('x')
  expect(asked).toBe(0)
  const all = [run('first', 'a'), limiter.runLimited(async () => undefined, { network: 'a', isKnown })]
  await settle()
  expect([asked, limiter.waiting()]).toEqual([1, 1])
  await order()
  await Promise.all(all)
})

test('FairLimiter: a slot that becomes free during the question is used', async () => {
  const { run, order, begun } = scene({ concurrency: 1, waiting: 4 })
  const answer = Promise.withResolvers<boolean>()
  const all = [run('first', 'a'), run('second', 'b', answer.promise)]
  await order()
  answer.resolve(false)
  await settle()
  expect(begun).toEqual(['first', 'second'])
  await order()
  await Promise.all(all)
})
