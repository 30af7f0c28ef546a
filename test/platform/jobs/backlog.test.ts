import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { toInstant } from '../../../src/kernel/index.ts'
import { leaseJob } from '../../../src/platform/jobs/store.ts'
import { rowsRead } from '../../harness/rows-read.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('a backlog of jobs on $name', ({ database }) => {
  test('a lease reads no jobs of other kinds, such as those of a removed extension', async () => {
    await database.deleteFrom('jobs').execute()
    await sql`INSERT INTO jobs (biz_id, kind, payload, status, run_at, created_at)
      SELECT gen_random_uuid(), CASE n WHEN 1 THEN 'mail.send' ELSE 'loans.on.transfer.completed' END, '{}', 'WAITING',
        now() - make_interval(secs => 86400 - n), now()
      FROM generate_series(1, 10000) AS n`.execute(database)
    await sql`ANALYZE jobs`.execute(database)
    const at = toInstant(Date.now())
    const lease = (kind: string) => (store: typeof database) =>
      leaseJob(store, { kinds: [kind, 'exports.write'], leaseId: randomUUID(), at, leaseMs: 30_000 })
    const read = await rowsRead(database, lease('mail.send'))
    expect(read('jobs')).toBeLessThan(10)
    // A backlog of the same kind is read in the order of the due times.
    const ofBacklog = await rowsRead(database, lease('loans.on.transfer.completed'))
    expect(ofBacklog('jobs')).toBeLessThan(10)
  })
})
