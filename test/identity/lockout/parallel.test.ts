import { afterAll, describe, expect, test } from 'vitest'
import { Lockout } from '../../../src/identity/lockout/service.ts'
import { createKeyedDigest } from '../../../src/platform/crypto/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { testClock } from '../clock.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rule = { limit: 10, windowMs: 900_000, firstWaitMs: 60_000, maxWaitMs: 3_600_000 }
const digest = createKeyedDigest(new Uint8Array(32).fill(7))

describe.each(stores)('parallel failures on $name', ({ database }) => {
  const clock = testClock()
  const lockout = new Lockout({ database, clock, digest }, rule)
  const inParallel = <T>(count: number, work: () => Promise<T>) =>
    Promise.allSettled(Array.from({ length: count }, work))

  test('ten of thirty are counted; the others are refused until the lockout ends', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'parallel@demo.test')
    const counted = await inParallel(30, () => lockout.countFailure(subject))
    expect(counted.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    const refusals = counted.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    expect(new Set(refusals)).toEqual(new Set(['ACCESS.RATE_LIMITED']))
    clock.advance(rule.firstWaitMs)
    await lockout.countFailure(subject)
  })

  test('failures that are counted and withdrawn in parallel leave none', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'withdrawn@demo.test')
    const countAndWithdraw = async () => lockout.withdrawFailure(await lockout.countFailure(subject))
    for (let round = 0; round < 5; round++) {
      const done = await inParallel(8, countAndWithdraw)
      expect(done.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'fulfilled'))
      expect(await lockout.remainingFailures(subject)).toBe(10)
    }
  })

  test('a failure is counted while a completed sign-in deletes the others', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'deleted@demo.test')
    for (let round = 0; round < 10; round++) {
      await lockout.countFailure(subject)
      const clear = database.transaction().execute((tx) => lockout.clear(tx, subject))
      await Promise.all([clear, lockout.countFailure(subject)])
      expect(await lockout.remainingFailures(subject)).toBeGreaterThanOrEqual(9)
    }
  })
})
