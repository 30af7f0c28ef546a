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
