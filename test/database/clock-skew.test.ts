import { afterAll, expect, test } from 'vitest'
import { watchClockSkew } from '../../src/database/index.ts'
import { addMs, type Clock } from '../../src/kernel/index.ts'
import { systemClock } from '../../src/platform/runtime/index.ts'
import { captureLog } from '../harness/log.ts'
import { testDatabase } from '../identity/database.ts'

const store = await testDatabase()
afterAll(() => store.close())

test('health/ready: a clock that goes wrong while the process runs is not ready, until it is right again', async () => {
  let shift = 0
  const clock: Clock = { now: () => addMs(systemClock.now(), shift) }
  const { logger, lines } = captureLog()
  const logged = () => lines.map(({ msg }) => msg)
  const faults: unknown[] = []
  const onFault = (error: unknown) => void faults.push(error)
  const skew = await watchClockSkew({ database: store.database, clock, logger, onFault }, 5_000, 5)
  await skew.check()
  expect([skew.isWithin(), logged()]).toEqual([true, []])
  shift = 28_800_000
  await expect.poll(() => skew.check().catch((error: Error) => error.message)).toMatch(/^clock skew: 28\d{6} ms ahead/)
  expect(Math.round(skew.aheadMs() / 1_000)).toBe(28_800)
  expect(skew.isWithin()).toBe(false)
  expect(new Set(logged())).toEqual(new Set(['clock skew between this process and the database']))
  shift = 2_000
  await expect.poll(() => skew.check().then(() => 'ready', String)).toBe('ready')
  shift = 0
  await expect.poll(() => logged().at(-1)).toBe('the clocks of this process and the database agree again')
  expect(skew.isWithin()).toBe(true)
  await skew.close()
  expect(faults).toEqual([])
})
