import type { LookupAddress, LookupOptions } from 'node:dns'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Resolver } from '../../../src/platform/runtime/resolver.ts'

/** libuv has four threads, and a look-up occupies one until the name server responds. */
class ThreadPool {
  readonly started: string[] = []
  readonly #results = new Map<string, (readonly LookupAddress[] | Error)[]>()
  readonly #hanging = new Map<string, PromiseWithResolvers<readonly LookupAddress[]>>()
  #running = 0
  maxRunning = 0

  /** The last result repeats. */
  set(name: string, ...results: (readonly string[] | Error)[]): void {
    const parsed = results.map((result) =>
      result instanceof Error ? result : result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
    this.#results.set(name, parsed)
  }

  finish(name: string, result: readonly string[] | Error): void {
    const hanging = this.#hanging.get(name)
    this.#hanging.delete(name)
    if (result instanceof Error) hanging?.reject(result)
    else hanging?.resolve(result.map((address) => ({ address, family: 4 })))
  }

  /** Names without a result hang. */
  readonly lookup = async (name: string): Promise<readonly LookupAddress[]> => {
    this.started.push(name)
    this.#running++
    this.maxRunning = Math.max(this.maxRunning, this.#running)
    try {
      const results = this.#results.get(name)
      const result = results && results.length > 1 ? results.shift() : results?.[0]
      if (result instanceof Error) throw result
      if (result) return result
      const hanging = Promise.withResolvers<readonly LookupAddress[]>()
      this.#hanging.set(name, hanging)
      return await hanging.promise
    } finally {
      this.#running--
    }
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

describe('Resolver', () => {
  let pool: ThreadPool
  let resolver: Resolver
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    pool = new ThreadPool()
    resolver = new Resolver(pool.lookup)
  })
  afterEach(() => void vi.useRealTimers())

  const find = (name: string, options: LookupOptions = { all: true }, isInTurn = false): Promise<string> => {
    const found = new Promise<string>((resolve, reject) => {
      resolver[isInTurn ? 'lookupInTurn' : 'lookup'](name, options, (error, address) => {
        if (error) reject(error)
        else resolve(typeof address === 'string' ? address : address.map((each) => each.address).join(' '))
      })
    })
    // The test awaits it later.
    found.catch(() => undefined)
    return found
  }
  const codeOf = (found: Promise<string>) => found.then(String, (error: unknown) => Object(error).code)
  const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  test('lookup: concurrent callers share one look-up, and later ones the cached address', async () => {
    const callers = [find('a'), find('a'), find('a')]
    await wait(10)
    pool.finish('a', ['10.0.0.1'])
    expect(await Promise.all(callers)).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.1'])
    await wait(4_000)
    expect(await find('a')).toBe('10.0.0.1')
    expect(pool.started).toEqual(['a'])
  })

  test('lookup: a moved name is noticed after five seconds', async () => {
    pool.set('a', ['10.0.0.1'], ['10.0.0.2'])
    expect(await find('a')).toBe('10.0.0.1')
    await wait(5_000)
    expect(await find('a')).toBe('10.0.0.2')
  })

  test('lookup: a failure is cached for a second', async () => {
    pool.set('a', failure('ENOTFOUND'), ['10.0.0.1'])
    expect(await codeOf(find('a'))).toBe('ENOTFOUND')
    expect(await codeOf(find('a'))).toBe('ENOTFOUND')
    expect(pool.started).toEqual(['a'])
    await wait(1_000)
    expect(await find('a')).toBe('10.0.0.1')
  })

  test('lookup EAI_AGAIN: callers of a slow name fail after two seconds, and later ones immediately', async () => {
    const first = codeOf(find('slow'))
    await wait(1_500)
    const second = codeOf(find('slow'))
    await wait(500)
    expect(await Promise.all([first, second])).toEqual(['EAI_AGAIN', 'EAI_AGAIN'])
    expect(await codeOf(find('slow'))).toBe('EAI_AGAIN')
    expect(pool.started).toEqual(['slow'])
    pool.finish('slow', ['10.0.0.9'])
    await wait(0)
    expect(await find('slow')).toBe('10.0.0.9')
  })

  test.each<[string, () => Promise<never>]>([
    ['slow', () => new Promise(() => undefined)],
    ['failing', () => Promise.reject(failure('EAI_AGAIN'))],
  ])('lookup: the old address serves for ten minutes while a look-up is %s', async (_, next) => {
    let isFirst = true
    resolver = new Resolver(async (name) => {
      if (!isFirst) return next()
      isFirst = false
      pool.set(name, ['10.0.0.1'])
      return pool.lookup(name)
    })
    await find('a')
    await wait(5_000)
    const found = find('a')
    await wait(200)
    expect(await found).toBe('10.0.0.1')
    expect(await find('a')).toBe('10.0.0.1')
    await wait(600_000)
    const late = codeOf(find('a'))
    await wait(2_000)
    expect(await late).toBe('EAI_AGAIN')
  })

  test('lookup ENOTFOUND: a name that does not exist any more loses its address', async () => {
    pool.set('a', ['10.0.0.1'], failure('ENOTFOUND'))
    await find('a')
    await wait(5_000)
    expect(await codeOf(find('a'))).toBe('ENOTFOUND')
  })

  test('lookup: slow names never occupy all threads, and names that resolve quickly do not wait for them', async () => {
    pool.set('database', ['10.0.0.1'], ['10.0.0.2'])
    await find('database')
    await wait(5_000)
    const slow = Array.from({ length: 20 }, (_, index) => codeOf(find(`slow-${index}`)))
    expect(await find('database')).toBe('10.0.0.2')
    await wait(2_000)
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['EAI_AGAIN']))
    await wait(5_000)
    expect(await find('database')).toBe('10.0.0.2')
    expect(pool.maxRunning).toBeLessThan(4)
  })

  test('lookup: the callback has the form that the options request', async () => {
    pool.set('a', ['10.0.0.1', '::1', '10.0.0.2'])
    expect(await find('a')).toBe('10.0.0.1 ::1 10.0.0.2')
    expect(await find('a', {})).toBe('10.0.0.1')
    expect(await find('a', { family: 6 })).toBe('::1')
    expect(await find('a', { family: 'IPv4', all: true })).toBe('10.0.0.1 10.0.0.2')
    pool.set('b', ['10.0.0.1'])
    expect(await codeOf(find('b', { family: 6 }))).toBe('ENOTFOUND')
  })

  test('lookupInTurn: each call starts with the next address of the family', async () => {
    pool.set('a', ['10.0.0.1', '10.0.0.2', '10.0.0.3', '::1'])
    const turns = [await find('a', {}, true), await find('a', {}, true), await find('a', {}, true)]
    expect(turns).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3'])
    expect(await find('a', { all: true }, true)).toBe('10.0.0.1 10.0.0.2 10.0.0.3 ::1')
  })
})
