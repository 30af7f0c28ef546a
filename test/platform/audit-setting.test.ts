import { afterAll, expect, test } from 'vitest'
import { recordSetting } from '../../src/platform/audit/index.ts'
import { systemClock, systemIds } from '../../src/platform/runtime/index.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

test.each(stores)('settings: each change leaves one audit entry without an account on $name', async ({ database }) => {
  const name = `money.tested${systemIds.next()}`
  const start = (value: { enabled: boolean; USD?: string }) =>
    recordSetting({ database, clock: systemClock, ids: systemIds }, { name, value, initial: { enabled: true } })
  const entries = () =>
    database
      .selectFrom('audit_log')
      .select(['portal', 'actorBizId', 'outcome', 'detail'])
      .where('action', '=', `settings.${name}`)
      .orderBy('at')
      .execute()
  const entry = (detail: object) => ({ portal: 'SYSTEM', actorBizId: null, outcome: 'SUCCESS', detail })
  await start({ enabled: true })
  expect(await entries()).toEqual([])
  await Promise.all([start({ enabled: false }), start({ enabled: false }), start({ enabled: false })])
  await start({ enabled: false })
  expect(await entries()).toEqual([entry({ enabled: false })])
  await start({ enabled: true, USD: '500.00' })
  await start({ enabled: true })
  expect(await entries()).toEqual([
    entry({ enabled: false }),
    entry({ enabled: true, USD: '500.00' }),
    entry({ enabled: true }),
  ])
})
