import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { BatchLoader } from '../../src/kernel/index.ts'

function createLoader(fails = false) {
  const batches: number[][] = []
  const loader = new BatchLoader(String, async (keys: number[]) => {
    batches.push(keys)
    if (fails) throw new Error('no connection')
    return new Map(keys.filter((key) => key >= 0).map((key) => [String(key), key * 2]))
  })
  return { loader, batches }
}

describe('BatchLoader', () => {
  test('loads the keys of one moment together, each once, and leaves unknown ones undefined', async () => {
    const { loader, batches } = createLoader()
    const later = Promise.resolve().then(() => loader.load(3))
    expect(await Promise.all([loader.load(1), loader.load(2), loader.load(1), loader.load(-1), later])).toEqual([
      2,
      4,
      2,
      undefined,
      6,
    ])
    expect(batches).toEqual([[1, 2, -1, 3]])
  })

  test('loads again later, even if the first load is still pending', async () => {
    const { loader, batches } = createLoader()
    const first = loader.load(1)
    await pause(5)
    await Promise.all([first, loader.load(1)])
    expect(batches).toEqual([[1], [1]])
  })

  test('loads at most 1,000 keys together', async () => {
    const { loader, batches } = createLoader()
    const keys = Array.from({ length: 1_001 }, (_, key) => key)
    expect(await Promise.all(keys.map((key) => loader.load(key)))).toEqual(keys.map((key) => key * 2))
    expect(batches.map(({ length }) => length)).toEqual([1_000, 1])
  })

  test('rejects every caller of a batch that failed, and none of the next', async () => {
    const { loader, batches } = createLoader(true)
    const settled = await Promise.allSettled([loader.load(1), loader.load(2)])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(loader.load(1)).rejects.toThrow('no connection')
    expect(batches).toEqual([[1, 2], [1]])
  })
})
