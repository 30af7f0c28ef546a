import { afterAll, describe, expect, test } from 'vitest'
import { run } from '../../../src/database/index.ts'
import { Lockout } from '../../../src/identity/lockout/service.ts'
import { createKeyedDigest } from '../../../src/platform/crypto/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { testClock } from '../clock.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rule = { limit: 10, windowMs: 900_000, firstWaitMs: 60_000, maxWaitMs: 3_600_000 }
const digest = createKeyedDigest({ current: new Uint8Array(32).fill(7), previous: [] })

describe.each(stores)('parallel failures on $name', ({ database }) => {
  const clock = testClock()
  const lockout = new Lockout({ database, clock, digest }, rule)
  const inParallel = <T>(count: number, work: () => Promise<T>) =>
    Promise.allSettled(Array.from({ length: count }, work))

  test('ten of thirty are counted; the others are refused until the lockout ends', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'parallel@demo.test', null)
    const counted = await inParallel(30, () => lockout.countFailure(subject))
    expect(counted.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    const refusals = counted.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    expect(new Set(refusals)).toEqual(new Set(['ACCESS.RATE_LIMITED']))
    clock.advance(rule.firstWaitMs)
    await lockout.countFailure(subject)
  })

  test('failures that are counted and withdrawn in parallel leave none', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'withdrawn@demo.test', null)
    const countAndWithdraw = async () => lockout.withdrawFailure(await lockout.countFailure(subject))
    for (let round = 0; round < 5; round++) {
      const done = await inParallel(8, countAndWithdraw)
      expect(done.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'fulfilled'))
      expect(await lockout.remainingFailures(subject)).toBe(10)
    }
  })

  test('a failure is counted while a completed sign-in deletes the others', async () => {
    const subject = lockout.loginSubject('CONSUMER', 'deleted@demo.test', null)
    for (let round = 0; round < 10; round++) {
      await lockout.countFailure(subject)
      const clear = run(database, lockout.clear(subject))
      await Promise.all([clear, lockout.countFailure(subject)])
      expect(await lockout.remainingFailures(subject)).toBeGreaterThanOrEqual(9)
    }
  })
})

describe.each(stores)('failures during a rotation of the secret key on $name', ({ database }) => {
  const clock = testClock()
  const [first, second] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)]
  const replica = (current: Uint8Array, ...previous: Uint8Array[]) =>
    new Lockout({ database, clock, digest: createKeyedDigest({ current, previous }) }, rule)
  const fail = async (lockout: Lockout, email: string, count: number) => {
    for (let failures = 0; failures < count; failures++)
      await lockout.countFailure(lockout.loginSubject('CONSUMER', email, null))
  }
  const remaining = (lockout: Lockout, email: string) =>
    lockout.remainingFailures(lockout.loginSubject('CONSUMER', email, null))

  test('failures under the old and under the new key add up to a lockout', async () => {
    await fail(replica(first), 'two-keys@demo.test', 5)
    await fail(replica(second), 'two-keys@demo.test', 4)
    expect(await remaining(replica(second, first), 'two-keys@demo.test')).toBe(1)
    expect(await remaining(replica(second), 'two-keys@demo.test')).toBe(1)
    await fail(replica(first), 'two-keys@demo.test', 1)
    const lockedOut = fail(replica(second, first), 'two-keys@demo.test', 1)
    await expect(lockedOut).rejects.toMatchObject({ code: 'ACCESS.RATE_LIMITED' })
  })

  test('replicas with the keys in opposite order count each failure once', async () => {
    const replicas = [replica(first, second), replica(second, first)]
    for (let round = 0; round < 20; round++) {
      const email = `opposite-${round}@demo.test`
      const done = await Promise.allSettled(
        [...replicas, ...replicas, ...replicas].map((lockout) => fail(lockout, email, 1)),
      )
      expect(done.filter(({ status }) => status === 'rejected')).toEqual([])
      expect(await remaining(replica(first, second), email)).toBe(4)
    }
  })

  test('a failure that another replica moved can be withdrawn', async () => {
    const [older, newer] = [replica(first, second), replica(second, first)]
    const counted = await older.countFailure(older.loginSubject('CONSUMER', 'moved@demo.test', null))
    await fail(newer, 'moved@demo.test', 1)
    await older.withdrawFailure(counted)
    expect(await remaining(newer, 'moved@demo.test')).toBe(9)
  })
})
