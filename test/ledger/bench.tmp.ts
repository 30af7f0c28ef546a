import { sql } from 'kysely'
import { createBook } from './book.ts'
import { embeddedStore, postgresStore } from './stores.ts'

const which = process.argv[2]
const store = which === 'pg' ? await postgresStore(16) : await embeddedStore()
if (!store) throw new Error('none')
await sql`ALTER DATABASE postgres SET track_functions = 'all'`.execute(store.database).catch(() => 0)
await sql`SET track_functions = 'all'`.execute(store.database)
const book = await createBook(store.database)
const ws = await Promise.all(Array.from({ length: 64 }, () => book.wallet('USD', '1000000.00')))
const actor = book.account()
let k = 0
const one = async (i: number) => {
  const a = ws[i % 64]!,
    b = ws[(i * 7 + 1 + i) % 64]!
  if (a === b) return
  const base = { currency: 'USD', active: true, currencyField: 'currency' }
  await book.ledger.execute({
    actor,
    idempotency: {
      account: actor,
      workspace: a.workspace,
      operation: 'transfers.create',
      requestId: `r${k++}`,
      bodyHash: 'x'.repeat(64),
    },
    audit: { portal: 'CONSUMER', action: 'transfers.create', requestId: 'r', clientIp: '203.0.113.7' },
    parties: [
      { ...base, label: 'source', wallet: a.id, workspace: a.workspace },
      { ...base, label: 'target', wallet: b.id, workspace: null },
    ],
    entries: [
      { account: 'source', amount: -1n, flowType: 'TRANSFER' },
      { account: 'target', amount: 1n, flowType: 'TRANSFER' },
    ],
    create: {
      workspace: a.workspace,
      type: 'TRANSFER',
      data: { amount: '1', currency: 'USD', feeAmount: '0', remark: null, clientReference: null, failureCode: null },
      steps: [{ status: 'PROCESSING' }, { status: 'COMPLETED' }],
    },
  })
}
const run = async (n: number, conc: number) => {
  let i = 0
  const t = process.hrtime.bigint()
  await Promise.all(
    Array.from({ length: conc }, async () => {
      while (i < n) await one(i++)
    }),
  )
  const s = Number(process.hrtime.bigint() - t) / 1e9
  console.log(store.name, 'n', n, 'conc', conc, Math.round(n / s), '/s')
}
await run(300, 1)
await run(3000, which === 'pg' ? 16 : 1)
await run(3000, which === 'pg' ? 16 : 1)
if (process.argv[3] === 'prof') {
  console.log(
    (
      await sql`select funcname, calls, round(total_time::numeric,1)::text t, round(self_time::numeric,1)::text s, round((1000*self_time/calls)::numeric)::text us from pg_stat_user_functions order by self_time desc`.execute(
        store.database,
      )
    ).rows,
  )
}
console.log(await book.ledger.verifyBook())
await store.close()
