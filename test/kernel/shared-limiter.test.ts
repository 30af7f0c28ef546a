import { expect, test } from 'vitest'
import { type ConcurrencyLimits, createSharedLimiter } from '../../src/kernel/index.ts'

function scene(limits: ConcurrencyLimits) {
  const { runLimited } = createSharedLimiter(limits)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, signal?: AbortSignal): Promise<string> => {
    const task = () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve('done')))
    }
    return runLimited(task, name.charAt(0), signal && { signal }).catch(
      (error: Error & { code?: string }) => error.code ?? error.message,
    )
  }
  const end = (name: string) => ends.get(name)?.()
  return { run, begun, end }
}

test('SharedLimiter: a caller leaves a quarter of the slots to others, and takes its turn', async () => {
  const { run, begun, end } = scene({ concurrency: 4, waiting: 8 })
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) => run(name))
  const order = ['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'c1', 'a5']
  await expect.poll(() => begun).toEqual(order.slice(0, 4))
  for (const [index, name] of order.entries()) {
    end(name)
    await expect.poll(() => begun).toEqual(order.slice(0, index + 5))
  }
  expect(await Promise.all(all)).toEqual(all.map(() => 'done'))
})

test('SharedLimiter: in a full queue, the newest task of the caller that waits most gives its place', async () => {
  const { run, begun, end } = scene({ concurrency: 1, waiting: 3 })
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => run(name))
  const refused = run('a5')
  expect(await refused).toBe('SYSTEM.UNAVAILABLE')
  const other = run('b1')
  expect(await all[3]).toBe('SYSTEM.UNAVAILABLE')
  for (const name of ['a1', 'a2', 'b1', 'a3']) {
    await expect.poll(() => begun).toContain(name)
    end(name)
  }
  expect(await other).toBe('done')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
})

test('SharedLimiter: a task whose signal aborts leaves the queue, and its place is free', async () => {
  const { run, begun, end } = scene({ concurrency: 1, waiting: 1 })
  const leaving = new AbortController()
  const all = [run('a1'), run('a2', leaving.signal)]
  leaving.abort(new Error('left'))
  expect(await all[1]).toBe('left')
  expect(await run('a3', leaving.signal)).toBe('left')
  const last = run('b1')
  end('a1')
  await expect.poll(() => begun).toEqual(['a1', 'b1'])
  end('b1')
  expect(await last).toBe('done')
})
