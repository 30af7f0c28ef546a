import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchLedger } from '../../src/compose/ledger.ts'
import { toInstant } from '../../src/kernel/index.ts'
import type { Ledger } from '../../src/ledger/index.ts'

const metrics = { checked: () => undefined }
function watch(readLastCheck: Ledger['readLastCheck']) {
  return watchLedger({ ledger: { readLastCheck }, onFault: () => undefined, metrics })
}
const broken = { rule: 'entries follow one another', subject: 'x', violations: 1 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('watchLedger: not ready while the last ledger check failed, ready again after one succeeded', async () => {
  const times = { verifiedAt: null, wholeVerifiedAt: null }
  let lastCheck: Awaited<ReturnType<Ledger['readLastCheck']>> = { at: toInstant(0), broken, ...times }
  const readiness = watch(async () => lastCheck)
  await vi.advanceTimersByTimeAsync(0)
  await expect(readiness.check()).rejects.toThrow(broken.rule)
  lastCheck = { at: toInstant(1), broken: null, ...times }
  await vi.advanceTimersByTimeAsync(1_000)
  await expect(readiness.check()).resolves.toBeUndefined()
  await readiness.close()
})

test('watchLedger: one poll at a time on a slow store', async () => {
  const result = Promise.withResolvers<undefined>()
  const readLastCheck = vi.fn(() => result.promise)
  const readiness = watch(readLastCheck)
  await vi.advanceTimersByTimeAsync(60_000)
  result.resolve(undefined)
  await readiness.close()
  expect(readLastCheck).toHaveBeenCalledTimes(1)
})
