import { isDeepStrictEqual } from 'node:util'
import { type Database, inTransaction } from '../../database/index.ts'
import type { Clock, Ids } from '../../kernel/index.ts'
import { type AuditEntry, insertAuditEntry, latestDetail, lockAction } from './store.ts'

export interface AuditedSetting {
  /** Such as `money.separationOfDuties`. */
  name: string
  value: AuditEntry['detail']
  /** The value that a new store need not record. */
  initial: AuditEntry['detail']
}

/**
 * Records the value at start, if it differs from the last one. Replicas that start at the same time write one entry.
 */
export function recordSetting(
  { database, clock, ids }: { database: Database; clock: Clock; ids: Ids },
  { name, value, initial }: AuditedSetting,
): Promise<void> {
  return inTransaction(database, async (tx) => {
    const action = `settings.${name}`
    await lockAction(tx, action)
    if (isDeepStrictEqual((await latestDetail(tx, action)) ?? initial, value)) return
    await insertAuditEntry(tx, {
      at: clock.now(),
      portal: 'SYSTEM',
      actorId: null,
      workspaceId: null,
      action,
      targetId: null,
      outcome: 'SUCCESS',
      requestId: ids.next(),
      clientIp: '',
      detail: value,
    })
  })
}
