import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/recharges/contract.ts'
import { migrations } from '../../../src/banking/recharges/schema/index.ts'
import { inTransaction, sqlState } from '../../../src/database/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { openRecharges } from './world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** As it was before the migration. */
const earlier = [
  `DROP TABLE recharge_references CASCADE`,
  `CREATE TABLE recharge_references (scope text NOT NULL, channel_code text NOT NULL, reference text NOT NULL,
    workspace_biz_id uuid NOT NULL, order_biz_id uuid NOT NULL, PRIMARY KEY (scope, channel_code, reference))`,
]

test.each(stores)('migration on $name: references get their canonical form, and equal ones remain', async (store) => {
  const { database } = store
  const rows = [
    ...[
      ['LIVE', 'BANK', 'SEPA2026-17'],
      ['LIVE', 'BANK', 'SEPA2026\u00a017'],
      ['LIVE', 'BANK', 'SEPA202617'],
    ],
    ...[
      ['LIVE', 'CARD', 'ＳＥＰＡ－１'],
      ['LIVE', 'CARD', '---'],
      ['a sandbox', 'BANK', 'SEPA2026-17'],
    ],
  ]
  const [id, order] = [randomUUID(), randomUUID()]
  await inTransaction(database, async (tx) => {
    for (const statement of earlier) await sql.raw(statement).execute(tx)
    for (const [scope, channel, reference] of rows)
      await sql`INSERT INTO recharge_references VALUES (${scope}, ${channel}, ${reference}, ${id}, ${order})`.execute(
        tx,
      )
    await migrations.find(({ name }) => name === '002-canonical-references')?.up(tx)
  })
  const found = await sql<{ row: string }>`
    SELECT concat_ws(' ', scope, channel_code, reference, use_number) AS row FROM recharge_references`.execute(database)
  expect(found.rows.map(({ row }) => row).sort()).toEqual([
    'LIVE BANK SEPA202617 1',
    'LIVE BANK SEPA202617 2',
    'LIVE BANK SEPA202617 3',
    'LIVE CARD --- 1',
    'LIVE CARD SEPA1 1',
    'a sandbox BANK SEPA202617 1',
  ])
})

test('recharges.confirm: a replica of the previous release cannot use a reference again, in any spelling', async () => {
  const { database, wallet, call, close } = await openRecharges()
  const create = async () => {
    const body = { walletBizId: wallet.id, channelCode: 'TOKEN', amount: '10.00' }
    const as = { as: systemIds.next<'account'>(), workspace: wallet.workspace }
    return (await call(contract.createRecharge, { ...as, body })).bizId
  }
  await call(contract.confirmRecharge, {
    ...{ as: systemIds.next<'account'>(), params: { recharge_id: await create() } },
    body: { externalReference: 'Sepa 2026-17' },
  })
  const confirmWithoutKey = async (externalReference: string) => {
    const data = JSON.stringify({ externalReference })
    await sql`
      UPDATE orders SET status = 'COMPLETED', version = version + 1, data = data || ${data}::jsonb,
             history = history || '{"status": "COMPLETED"}'::jsonb
       WHERE biz_id = ${await create()}`.execute(database)
  }
  for (const text of ['SEPA202617', 'sepa\u00a02026 17', 'ＳＥＰＡ２０２６－１７'])
    expect(await confirmWithoutKey(text).catch(sqlState)).toBe('PR002')
  await confirmWithoutKey('Sepa 2026-18')
  await close()
})

test.each(['SEPA\u00ad2026\u200b-17', '\u2066SEPA2026-17\u2069', '\ufeffSEPA2026\u200d-17'])(
  'recharges.confirm, allowReference 200: %j is read without its invisible characters',
  (externalReference) => {
    const read = { externalReference: 'SEPA2026-17' }
    expect(contract.confirmRecharge.body.parse({ externalReference })).toEqual(read)
    expect(contract.allowRechargeReference.body.parse({ externalReference, reason: 'Rent' })).toMatchObject(read)
  },
)
