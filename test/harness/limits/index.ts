import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { z } from 'zod'
import { domain } from '../../../src/api/domain.ts'
import type { HookRequest } from '../../../src/api/hooks.ts'
import { member } from '../../../src/contract/policies.ts'
import type { Database, Tx } from '../../../src/database/index.ts'
import { type Code, type Money, operation, Refusal } from '../../../src/kernel/index.ts'

/** A global declaration would be one of all tests. */
const exceeded = 'LIMIT.EXCEEDED' as Code

const readCounts = operation({
  id: 'limits.counts',
  method: 'GET',
  path: '/limits/counts',
  chains: ['consumer'],
  summary: 'Count what transfers leave behind',
  policy: { ...member, workspace: 'required', permission: 'wallet:read' },
  body: 'none',
  reply: z.record(z.string(), z.int()),
  refuses: [],
})

interface Transfer {
  amount: Money
  remark: string | null
}

const counts = (operationId: string) =>
  sql<Record<string, number>>`SELECT
    (SELECT count(*) FROM idempotency WHERE operation = 'limits.use') AS uses,
    (SELECT count(*) FROM orders WHERE order_type = 'TRANSFER') AS orders,
    (SELECT count(*) FROM idempotency WHERE operation = ${operationId}) AS results,
    (SELECT count(*) FROM audit_log WHERE action = ${operationId} AND outcome = 'SUCCESS') AS entries`

/** Up to 500.00 per transfer, and n transfers with the same remark `max n`. Other remarks are mistakes of a hook. */
async function limit(
  { body, caller, workspace }: HookRequest<Transfer>,
  { tx, database }: { tx: Tx; database: Database },
): Promise<void> {
  const { amount, remark } = body
  if (amount.minor > 50_000n) throw new Refusal(exceeded)
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${workspace?.id}, 7))`.execute(tx)
  const { rows } = await sql<{ uses: number }>`
    INSERT INTO idempotency VALUES
      (${caller?.accountId}, ${workspace?.id}, 'limits.use', ${randomUUID()}, ${remark ?? ''}, '{}', now())
    RETURNING (SELECT count(*) FROM idempotency WHERE operation = 'limits.use' AND body_hash = ${remark}) AS uses`.execute(
    tx,
  )
  const max = /^max (\d+)/.exec(remark ?? '')?.[1]
  if (max !== undefined && (rows[0]?.uses ?? 0) >= Number(max)) throw new Refusal(exceeded)
  if (remark === 'throws') throw new TypeError('the limits are on fire')
  if (remark === 'undeclared') throw new Refusal('STATE.CONFLICT')
  if (remark === 'fails') await sql`SELECT no_such_function()`.execute(tx)
  if (remark === 'database') await sql`SELECT 1`.execute(database)
  if (remark === 'commits') await sql`COMMIT`.execute(tx)
  if (remark === 'changes' && !Reflect.set(amount, 'minor', 1n)) throw new Error('the amount is frozen')
  if (remark === 'waits') await new Promise((resolve) => setTimeout(resolve, 3_000))
}

/** Limits transfers by a hook. Its rows are in a table of Portico, because a serving role cannot create one. */
export const limits = domain({
  name: 'limits',
  summary: 'Limits of transfers.',
  operations: { readCounts },
  codes: { [exceeded]: { status: 422 } },
  locales: new URL('./locales/', import.meta.url),
  needs: ['database'],
  before: { 'transfers.create': limit },
  create: ({ database }) => ({
    handlers: {
      readCounts: async () => (await counts('transfers.create').execute(database)).rows[0] ?? {},
    },
  }),
})
