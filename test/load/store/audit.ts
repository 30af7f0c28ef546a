import { databaseTarget } from '../../../src/compose/store.ts'
import type { Variables } from '../../../src/config/env.ts'
import { openDatabase } from '../../../src/database/index.ts'
import { verifyLedger } from '../../../src/ledger/index.ts'
import { testSettings } from '../../harness/settings.ts'

/** The ledger must balance and contain each acknowledged order once. */
export async function auditBook(variables: Variables, acknowledged: readonly string[]): Promise<string[]> {
  const store = await openDatabase(databaseTarget(testSettings(variables), () => undefined))
  try {
    const faults: string[] = []
    const broken = await verifyLedger(store.database)
    if (broken) faults.push(`the book: ${broken.rule}, ${broken.violations} times, first at ${broken.subject}`)
    const rows = await store.database.selectFrom('orders').select('bizId').where('orderType', '=', 'TRANSFER').execute()
    const written = new Set<string>(rows.map(({ bizId }) => bizId))
    const reported = new Set(acknowledged)
    if (reported.size !== acknowledged.length)
      faults.push(`${acknowledged.length - reported.size} duplicate acknowledged orders`)
    const lost = [...reported].filter((id) => !written.has(id)).length
    if (lost > 0) faults.push(`${lost} acknowledged orders are lost`)
    if (written.size > reported.size) faults.push(`${written.size - reported.size} orders without an acknowledgement`)
    return faults
  } finally {
    await store.close()
  }
}
