import { expect, test } from 'vitest'
import { createConcurrencyLimiter, findChain, isBizId } from '../../src/kernel/index.ts'

test.each([
  ['/web/v1/consumer', 'consumer'],
  ['/web/v1/consumer/wallets', 'consumer'],
  ['/web/v1/consumers', 'shared'],
  ['/web/v1/system/x', 'system'],
  ['/web/v1/users/self/x', 'self'],
  ['/web/v1/users/selfish', 'shared'],
  ['/web/v1/constants', 'shared'],
  ['/api/v1/consumer/x', 'api'],
  ['/api/v1/other', 'consumer'],
  ['/', 'consumer'],
])('%s stands below the chain %s', (path, chain) => {
  expect(findChain(path)).toBe(chain)
})

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'

test.each([
  [id, true],
  [id.toUpperCase(), false],
  [`x${id}`, false],
  [`${id}\n`, false],
  [id.replace('-7e0a', '-0e0a'), false],
  [id.replace('-7e0a', '-9e0a'), false],
  [id.replace('-8f35', '-7f35'), false],
  [id.replaceAll('-', ''), false],
])('%j can be an id of ours: %s', (text, can) => {
  expect(isBizId(text)).toBe(can)
})

/** Work that begins in its turn and ends when it is told to. */
const controlled = () => {
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

test('so many are under way and so many wait, in order; a failure makes room, and one more is refused for a second', async () => {
  const { begun, work, end, fail } = controlled()
  const queue = createConcurrencyLimiter({ concurrency: 2, waiting: 2 })
  const asked = ['a', 'b', 'c', 'd'].map((name) => queue.runLimited(work(name)))
  const failed = asked[0]?.catch((error: Error) => error.message)
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
  await Promise.all(asked.slice(1))
  const more = ['f', 'g', 'h'].map((name) => queue.runLimited(work(name)))
  await expect.poll(() => begun.slice(4)).toEqual(['f', 'g'])
  for (const name of ['f', 'g']) end(name)
  await expect.poll(() => begun.slice(4)).toEqual(['f', 'g', 'h'])
  end('h')
  await Promise.all(more)
  expect(queue.waiting()).toBe(0)
})
