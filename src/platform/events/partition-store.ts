import { sql } from 'kysely'
import { type Database, sqlState, timestamptz } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import { listPartitions, withShortLocks } from '../partitions/index.ts'
import { headPosition } from './store.ts'

const insufficientPrivilege = '42501'

/**
 * Drops partitions in which every event is older than the instant, from the oldest. A serving role that does not own the
 * tables cannot, and keeps empty partitions.
 */
export async function dropExpiredPartitions(database: Database, before: Instant): Promise<void> {
  const partitions = await listPartitions(database, 'events')
  const head = await headPosition(database)
  for (const { name, upper } of partitions.toSorted((a, b) => Number(a.lower) - Number(b.lower))) {
    // Behind the head, the sequencer adds no event.
    if (upper === null || head < Number(upper) || (await isInUse(database, Number(upper), before))) return
    try {
      await withShortLocks(database, (tx) => sql`DROP TABLE ${sql.table(name)}`.execute(tx))
    } catch (error) {
      if (sqlState(error) === insufficientPrivilege) return
      throw error
    }
  }
}

/** All earlier partitions are gone. */
async function isInUse(database: Database, upper: number, before: Instant): Promise<boolean> {
  const { rows } = await sql<{ isInUse: boolean }>`
    SELECT EXISTS (SELECT FROM events WHERE position < ${upper}::bigint AND at >= ${timestamptz(before)}) AS "isInUse"`.execute(
    database,
  )
  return rows[0]?.isInUse ?? true
}
