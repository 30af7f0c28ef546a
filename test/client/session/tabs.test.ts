import { afterEach, describe, expect, it, vi } from 'vitest'
import { createClientHash, createTokenStore } from '../../../src/client/session/credentials.ts'
import { memoryStorage, type Storage, withMemoryFallback } from '../../../src/client/session/storage.ts'
import { createTabLock, readUntilChanged } from '../../../src/client/session/tab-lock.ts'
import { pair } from '../fixtures.ts'

afterEach(() => vi.unstubAllGlobals())

const shared = memoryStorage()

/** Delays every access, and delays writes most. */
function slowStorage(items = memoryStorage()): Storage {
  const later = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms))
  return {
    getItem: (key) => later(5).then(() => items.getItem(key)),
    setItem: (key, value) => later().then(() => items.setItem(key, value)),
    removeItem: (key) => later().then(() => items.removeItem(key)),
  }
}

describe('stored tokens', () => {
  it.each([
    [900, 870_000],
    [120, 90_000],
    [60, 45_000],
    [40, 30_000],
  ])(
    'that live for %i s are renewed after %i ms: 30 s before expiry, or in the last quarter',
    async (expiresIn, after) => {
      const store = createTokenStore(memoryStorage(), 'tokens', () => 1_000_000)
      expect((await store.save(pair('1', expiresIn), 'hash')).renewAt).toBe(1_000_000 + after)
    },
  )

  it.each(['accessToken', 'refreshToken', 'clientHash', 'renewAt'])('without %s are invalid', async (part) => {
    const storage = memoryStorage()
    const store = createTokenStore(storage, 'tokens', () => 0)
    const whole = Object.entries(await store.save(pair('1'), 'hash'))
    expect(await store.read()).not.toBeNull()
    await storage.setItem('tokens', JSON.stringify(Object.fromEntries(whole.filter(([name]) => name !== part))))
    expect(await store.read()).toBeNull()
  })

  it('exist or not as a slow storage reports', async () => {
    const store = createTokenStore(slowStorage(), 'tokens', () => 0)
    await store.save(pair('1'), 'hash')
    expect(await store.read()).toMatchObject({ accessToken: 'access-1' })
    await store.clear()
    expect(await store.read()).toBeNull()
  })
})

describe('a write of another tab', () => {
  it('is awaited for half a second, then the current value counts', async () => {
    const times = vi.spyOn(globalThis, 'setTimeout')
    const read = vi.fn(async () => 'old')
    expect(await readUntilChanged(read, (value) => value === 'new')).toBe('old')
    const waits = times.mock.calls.map(([, milliseconds]) => milliseconds).filter((each) => each === 25)
    times.mockRestore()
    expect([read.mock.calls.length, waits.length]).toEqual([21, 20])
  })
})

describe('the lock', () => {
  /** The holders of the lock in order, and whether each one waited. */
  const holders = async (locks: ReturnType<typeof createTabLock>[]) => {
    const seen: string[] = []
    await Promise.all(
      locks.map((lock, place) =>
        lock('portico:test', async (waited) => {
          seen.push(`${place} in, waited: ${waited}`)
          await new Promise((resolve) => setTimeout(resolve, 20))
          seen.push(`${place} out`)
        }),
      ),
    )
    return seen
  }

  it('admits one tab at a time and reports which had to wait', async () => {
    expect(await holders([createTabLock(shared), createTabLock(shared)])).toEqual([
      '0 in, waited: false',
      '0 out',
      '1 in, waited: true',
      '1 out',
    ])
  })

  const together = ['0 in, waited: false', '1 in, waited: false', '0 out', '1 out']

  it('does not exist between clients without a shared storage', async () => {
    expect(await holders([createTabLock(undefined), createTabLock(undefined)])).toEqual(together)
  })

  it('does not make 20 users of one Node process wait for each other, with or without a storage', async () => {
    const storages = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? memoryStorage() : undefined))
    const waiting = Promise.withResolvers<void>()
    let running = 0
    const tasks = storages.map((storage) =>
      createTabLock(storage)('refresh', async (waited) => {
        running += 1
        if (running === storages.length) waiting.resolve()
        await waiting.promise
        return waited
      }),
    )
    // Each task ends only after all have begun.
    expect(await Promise.all(tasks)).toEqual(storages.map(() => false))
  })

  it('does not exist in a browser without Web Locks', async () => {
    vi.stubGlobal('navigator', {})
    expect(await holders([createTabLock(shared), createTabLock(shared)])).toEqual(together)
  })

  it.each([0, 1])('is skipped if the browser refuses it after %i requests', async (granted) => {
    let requests = 0
    const request = async (_name: string, _options: object, work: (lock: null) => unknown) => {
      if (requests++ < granted) return work(null)
      throw new DOMException('forbidden', 'SecurityError')
    }
    vi.stubGlobal('navigator', { locks: { request } })
    expect(await createTabLock(shared)('portico:test', async (waited) => waited)).toBe(granted > 0)
  })

  it('rethrows the error of the task and runs it once', async () => {
    const task = vi.fn(() => Promise.reject(new Error('the task failed')))
    await expect(createTabLock(shared)('portico:test', task)).rejects.toThrow('the task failed')
    const [first, second] = [
      createTabLock(shared)('portico:test', () => new Promise((end) => setTimeout(end, 20))),
      task,
    ]
    await expect(createTabLock(shared)('portico:test', second)).rejects.toThrow('the task failed')
    await first
    expect(task).toHaveBeenCalledTimes(2)
  })
})

describe('a client hash', () => {
  const key = 'client-hash'

  it('is created once for concurrent tabs, from 24 random bytes, and stored', async () => {
    const storage = slowStorage()
    const tabs = [1, 2, 3].map(() => createClientHash(null, storage, key, createTabLock(shared)))
    const hashes = await Promise.all(tabs.map((tab) => tab()))
    expect(new Set(hashes).size).toBe(1)
    expect(hashes[0]).toMatch(/^[\w-]{32}$/)
    expect(await createClientHash(null, storage, key, createTabLock(shared))()).toBe(hashes[0])
  })

  it.each(['', 'ä', 'a b', 'a\n', 'x'.repeat(257)])(
    'that the gateway would refuse (%j) is replaced by a new one',
    async (garbled) => {
      const storage = memoryStorage()
      await storage.setItem(key, garbled)
      const hash = await createClientHash(null, storage, key, createTabLock(shared))()
      expect(hash).toMatch(/^[\w-]{32}$/)
      expect(await storage.getItem(key)).toBe(hash)
    },
  )

  it('of another tab is used once its delayed write is visible', async () => {
    const [one, two] = [memoryStorage(), memoryStorage()]
    const delayedStorage: Storage = {
      ...one,
      setItem: (name, value) => {
        one.setItem(name, value)
        setTimeout(() => two.setItem(name, value), 60)
      },
    }
    const tabs = [delayedStorage, two].map((storage) => createClientHash(null, storage, key, createTabLock(shared)))
    const [first, second] = await Promise.all(tabs.map((tab) => tab()))
    expect(second).toBe(first)
  })
})

describe('a storage that has rejected a value', () => {
  const refusing = () => {
    const items = memoryStorage()
    const storage: Storage = { ...items }
    const full = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    storage.setItem = full
    const heal = () => {
      storage.setItem = items.setItem
    }
    return { items, heal, fallback: withMemoryFallback(storage) }
  }

  it('stores the next value only: the rejected one does not return when another tab signs out', async () => {
    const { items, heal, fallback } = refusing()
    await fallback.setItem('tokens', 'refused')
    expect(await fallback.getItem('tokens')).toBe('refused')
    heal()
    await fallback.setItem('tokens', 'taken')
    expect(await fallback.getItem('tokens')).toBe('taken')
    await items.removeItem('tokens')
    expect(await fallback.getItem('tokens')).toBeNull()
  })

  it('returns what another tab has written since', async () => {
    const { items, fallback } = refusing()
    await fallback.setItem('tokens', 'refused')
    await items.setItem('tokens', 'another tab’s')
    expect(await fallback.getItem('tokens')).toBe('another tab’s')
  })

  it("drops its own value for another tab's: that tab's sign-out must not restore it", async () => {
    const { items, fallback } = refusing()
    await fallback.setItem('tokens', 'refused')
    await items.setItem('tokens', 'another tab’s')
    await fallback.getItem('tokens')
    await items.removeItem('tokens')
    expect(await fallback.getItem('tokens')).toBeNull()
  })

  it("does not take the previous value, which is still being removed, for another tab's", async () => {
    const items = memoryStorage()
    await items.setItem('tokens', 'before')
    const full = () => Promise.reject(new DOMException('full', 'QuotaExceededError'))
    const fallback = withMemoryFallback({ ...slowStorage(items), setItem: full })
    const written = fallback.setItem('tokens', 'refused')
    await new Promise((resolve) => setTimeout(resolve, 1))
    expect(await fallback.getItem('tokens')).toBe('refused')
    await written
    expect(await fallback.getItem('tokens')).toBe('refused')
  })

  it('drops the value at sign-out', async () => {
    const { fallback } = refusing()
    await fallback.setItem('tokens', 'refused')
    await fallback.removeItem('tokens')
    expect(await fallback.getItem('tokens')).toBeNull()
  })
})
