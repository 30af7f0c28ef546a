import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { bizId } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { createBook } from './book.ts'
import { storeBefore } from './upgrade.ts'

test('an order of before takes its history along, and goes on from there', async () => {
  const { database, upgrade, close } = await storeBefore('060')
  const book = await createBook(database)
  const { workspace } = await book.wallet('USD', '5.00')
  const id = bizId<'order'>(systemIds.next())
  await sql`INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, version, data, created_at, updated_at)
    VALUES (${workspace}, ${id}, 'TRANSFER', 'T-1', 'COMPLETED', 2, '{}', '2026-01-01Z', '2026-01-02Z')`.execute(
    database,
  )
  for (const [position, status] of ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED'].entries())
    await sql`INSERT INTO order_status_history VALUES (${workspace}, ${id}, ${position + 1}::integer, ${status},
      '2026-01-01T10:00:00.123Z', NULL, 'because')`.execute(database)

  await upgrade()
  const order = await book.ledger.readOrder({ id, type: 'TRANSFER', workspace })
  expect(order?.history.map(({ status }) => status)).toEqual(['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED'])
  expect(order?.history[0]).toEqual({
    status: 'PENDING_APPROVAL',
    at: Date.parse('2026-01-01T10:00:00.123Z'),
    actorBizId: null,
    reason: 'because',
  })
  const { rows } = await sql<{ position: number; status: string }>`
    SELECT position, status FROM order_status_history WHERE order_biz_id = ${id} ORDER BY position`.execute(database)
  expect(rows.map(({ position, status }) => `${position} ${status}`)).toEqual([
    '1 PENDING_APPROVAL',
    '2 PROCESSING',
    '3 COMPLETED',
  ])
  expect(await book.ledger.verifyBook()).toBeNull()
  await close()
})
