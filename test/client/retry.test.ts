import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type ErrorCode, PorticoError } from '../../src/client/errors.ts'
import { retry } from '../../src/client/retry.ts'

afterEach(() => vi.restoreAllMocks())

function failure(retryAfter: number | null = null, code: ErrorCode = 'CLIENT.NETWORK') {
  return new PorticoError({ status: 0, code, message: 'no answer came', requestId: 'one', retryAfter })
}

async function waitsOf(rule: Parameters<typeof retry>[0], error: PorticoError): Promise<number[]> {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  await expect(retry(rule, undefined, () => Promise.reject(error))).rejects.toBe(error)
  // Longer timers are those of other tests in this process.
  const waits = timers.mock.calls.map(([, waitMs = 0]) => waitMs).filter((waitMs) => waitMs <= rule.maxDelayMs)
  timers.mockRestore()
  return waits
}

describe('the waits between two attempts', () => {
  it('double up to the maximum, and half of each is random', async () => {
    const rule = { attempts: 6, firstDelayMs: 0.01, maxDelayMs: 0.05 }
    const delays = [0.01, 0.02, 0.04, 0.05, 0.05]
    const rounds: Awaited<ReturnType<typeof waitsOf>>[] = []
    for (let round = 0; round < 40; round++) rounds.push(await waitsOf(rule, failure()))
    for (const [place, delay] of delays.entries()) {
      const shares = rounds.map((waits) => (waits[place] ?? 0) / delay)
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.5)
      expect(Math.max(...shares)).toBeLessThan(1)
      expect(Math.max(...shares) - Math.min(...shares)).toBeGreaterThan(0.2)
    }
  })

  it('follow a longer Retry-After, up to the maximum of the rule', async () => {
    const rule = { attempts: 3, firstDelayMs: 1, maxDelayMs: 20 }
    expect(await waitsOf(rule, failure(0.02))).toEqual([20, 20])
    expect(await waitsOf(rule, failure(0.021))).toEqual([])
  })

  it('follow a timeout, too', async () => {
    const rule = { attempts: 3, firstDelayMs: 1, maxDelayMs: 20 }
    expect(await waitsOf(rule, failure(null, 'CLIENT.TIMEOUT'))).toHaveLength(2)
  })
})

describe('a retry that is not safe', () => {
  const rule = { attempts: 3, firstDelayMs: 0, maxDelayMs: 0 }
  it('does not happen, and throws the reason', async () => {
    const task = vi.fn(() => Promise.reject(failure()))
    const reason = new Error('not the same command')
    const refuse = () => {
      throw reason
    }
    await expect(retry(rule, undefined, task, refuse)).rejects.toBe(reason)
    expect(task).toHaveBeenCalledOnce()
  })

  it('is not checked after the last attempt', async () => {
    const check = vi.fn()
    await expect(retry(rule, undefined, () => Promise.reject(failure()), check)).rejects.toThrow('no answer came')
    expect(check).toHaveBeenCalledTimes(2)
  })
})

describe('a caller that aborts', () => {
  const rule = { attempts: 3, firstDelayMs: 60_000, maxDelayMs: 60_000 }
  const reason = new Error('enough')

  it('during a wait ends it and its timer', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const caller = new AbortController()
    const task = vi.fn(() => Promise.reject(failure()))
    const call = retry(rule, caller.signal, task)
    await vi.waitFor(() => expect(getEventListeners(caller.signal, 'abort')).toHaveLength(1))
    caller.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(task).toHaveBeenCalledOnce()
    const wait = timers.mock.calls.findIndex(([, milliseconds]) => (milliseconds ?? 0) >= 30_000)
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[wait]?.value)
  })

  it('during an attempt prevents further ones', async () => {
    const caller = new AbortController()
    const call = retry(rule, caller.signal, () => {
      caller.abort(reason)
      return Promise.reject(failure())
    })
    await expect(call).rejects.toBe(reason)
  })

  it('never: leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    await expect(retry({ ...rule, firstDelayMs: 1 }, signal, () => Promise.reject(failure()))).rejects.toThrow()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
