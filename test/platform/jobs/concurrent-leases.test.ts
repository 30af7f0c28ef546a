import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { enqueueJob } from '../../../src/platform/jobs/index.ts'
import { leaseJob } from '../../../src/platform/jobs/store.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { testClock } from '../../identity/clock.ts'
import { postgresStore } from '../../ledger/stores.ts'

const store = await postgresStore()
afterAll(() => store?.close())

test('leaseJob: skips a job that another replica is leasing, without waiting', needsPostgres(store), async () => {
  if (!store) throw new Error('no store')
  const { database } = store
  const clock = testClock()
  for (const count of [1, 2]) {
    await enqueueJob(database, ids, { kind: 'test', payload: { count }, at: clock.now() })
    clock.advance(1)
  }
  const lease = () => {
    const leaseId = ids.next<'lease'>()
    return leaseJob(database, { kinds: ['test'], leaseId, at: clock.now(), leaseMs: 1_000 })
  }
  await database.transaction().execute(async (tx) => {
    await sql`SELECT FROM jobs WHERE payload->>'count' = '1' FOR UPDATE`.execute(tx)
    expect(await lease()).toMatchObject({ payload: { count: 2 } })
    expect(await lease()).toBeUndefined()
  })
  expect(await lease()).toMatchObject({ payload: { count: 1 } })
})
