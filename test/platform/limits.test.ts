import { expect, test } from 'vitest'
import { createLimits } from '../../src/platform/limits/index.ts'
import { systemClock } from '../../src/platform/system/index.ts'

test('of many that spend in the same moment as many pass as the limit says', async () => {
  const limits = createLimits(1, systemClock)
  const rule = { limit: 20, windowMs: 60_000 }
  const spent = await Promise.all(Array.from({ length: 100 }, () => limits.spend('test', 'somebody', rule)))
  expect(spent.filter(({ allowed }) => allowed)).toHaveLength(20)
  expect(spent.map(({ remaining }) => remaining).slice(0, 3)).toEqual([19, 18, 17])
  limits.close()
})

test('a limit that two portals give windows of their own ends each window by the portal’s rule', async () => {
  const limits = createLimits(1, systemClock)
  const minute = await limits.spend('login-address', 'CONSUMER:192.0.2.1', { limit: 1, windowMs: 60_000 })
  const hour = await limits.spend('login-address', 'SYSTEM:192.0.2.1', { limit: 1, windowMs: 3_600_000 })
  expect(minute.resetMs).toBeLessThanOrEqual(60_000)
  expect(hour.resetMs).toBeGreaterThan(60_000)
  limits.close()
})
