import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { listAuditLog } from '../../../src/banking/operators/store.ts'
import * as contract from '../../../src/banking/recharges/contract.ts'
import { migrations } from '../../../src/banking/recharges/schema/index.ts'
import { type Database, inTransaction, sqlState } from '../../../src/database/index.ts'
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
  const confirmAgain = async (text: string) => confirmWithoutKey(database, await create(), text)
  for (const text of ['SEPA202617', 'sepa\u00a02026 17', 'ＳＥＰＡ２０２６－１７'])
    expect(await confirmAgain(text).catch(sqlState)).toBe('PR002')
  await confirmAgain('Sepa 2026-18')
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
test('recharges.list, listAll 200: found by a reference as the bank statement writes it, not by others', async () => {
  const { database, wallet, openWallet, call, close } = await openRecharges()
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  const create = async () => {
    const body = { walletBizId: wallet.id, channelCode: 'TOKEN', amount: '10.00' }
    return (await call(contract.createRecharge, { as: maker, workspace: wallet.workspace, body })).bizId
  }
  const [id, withoutKey] = [await create(), await create()]
  await call(contract.confirmRecharge, {
    ...{ as: checker, params: { recharge_id: id } },
    body: { externalReference: 'Sepa 2026-17' },
  })
  await confirmWithoutKey(database, withoutKey, '---')
  const stranger = await openWallet('USD')
  const idsIn = ({ items }: { items: { bizId: string }[] }) => items.map(({ bizId }) => bizId)
  const find = async (externalReference: string) => {
    const member = { as: maker, query: { externalReference } }
    const log = { ...{ currentPage: 1, pageSize: 20, sortOrder: 'asc' as const }, externalReference }
    return {
      member: idsIn(await call(contract.listRecharges, { ...member, workspace: wallet.workspace })),
      stranger: idsIn(await call(contract.listRecharges, { ...member, workspace: stranger.workspace })),
      operator: idsIn(await call(contract.listAllRecharges, { as: checker, query: { externalReference } })),
      log: [...new Set((await listAuditLog(database, log)).items.map(({ targetId }) => targetId))],
    }
  }
  const only = (found: string) => ({ member: [found], stranger: [], operator: [found], log: [found] })
  for (const text of ['Sepa 2026-17', 'SEPA202617', 'sepa\u00a02026 17', 'ＳＥＰＡ２０２６－１７', 'Sepa-20-26/17'])
    expect(await find(text), text).toEqual(only(id))
  const none = { member: [], stranger: [], operator: [], log: [] }
  for (const text of ['Sepa 2026-1', '+', '-- -']) expect(await find(text), text).toEqual(none)
  expect(await find('---')).toMatchObject({ member: [withoutKey], stranger: [], operator: [withoutKey] })
  await close()
})

/** A replica of the release before `referenceKey`. */
async function confirmWithoutKey(database: Database, id: string, externalReference: string): Promise<void> {
  const data = JSON.stringify({ externalReference })
  const step = JSON.stringify({ status: 'COMPLETED', at: '2026-08-01T00:00:00.000Z', actorBizId: null, reason: null })
  await sql`
    UPDATE orders SET status = 'COMPLETED', version = version + 1, data = data || ${data}::jsonb,
           history = history || ${step}::jsonb
     WHERE biz_id = ${id}`.execute(database)
}
