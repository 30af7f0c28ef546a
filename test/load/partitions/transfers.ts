import { sql } from 'kysely'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import type { OpenDatabase } from '../../../src/database/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { execute, openServer, urlOf } from '../../harness/prepared-postgres.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { median } from '../report/stats.ts'
import { cpuSecondsOf } from '../rig/usage.ts'

const rounds = 14
const transfers = 1_000

/** The schema before partitions. */
const earlier = schemaOwners
  .filter(({ owner }) => owner !== 'partitions')
  .map(({ owner, migrations }) => {
    const end = migrations.findIndex(({ name }) => name.endsWith('-partitions'))
    return { owner, migrations: end < 0 ? migrations : migrations.slice(0, end) }
  })

/** CPU time of PostgreSQL per transfer, in interleaved rounds with one connection each. */
export async function compareTransfers(serverUrl: string, print: (text: string) => void): Promise<void> {
  const open = async (name: string, migrate: (store: OpenDatabase) => Promise<unknown>) => {
    await execute(serverUrl, `CREATE DATABASE ${name}`)
    const store = await openServer(urlOf(serverUrl, name), 1)
    await migrate(store)
    const bank = await createTestBank(store.database)
    const from = await bank.wallet('USD', '1000000.00')
    const to = await bank.wallet('USD', '1.00', from.workspace)
    const as = bank.account()
    const body = {
      sourceWalletBizId: from.id,
      targetWalletBizId: to.id,
      currency: 'USD',
      amount: '0.01',
    }
    const round = async (): Promise<number> => {
      // An idle connection is closed between two rounds.
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(store.database)
      const before = cpuSecondsOf(rows[0]?.pid ?? 0)
      for (let index = 0; index < transfers; index++) {
        bank.clock.advance(1)
        await bank.call(createTransfer, { as, workspace: from.workspace, body })
      }
      return ((cpuSecondsOf(rows[0]?.pid ?? 0) - before) * 1_000) / transfers
    }
    return { store, round, times: [] as number[] }
  }
  const without = await open('without', (store) => store.migrate(earlier))
  const partitioned = await open('partitioned', (store) => store.migrate(schemaOwners))
  for (const each of [without, partitioned]) await each.round()
  for (let round = 0; round < rounds; round++)
    for (const each of round % 2 ? [partitioned, without] : [without, partitioned]) each.times.push(await each.round())
  const [before, after] = [median(without.times), median(partitioned.times)]
  print(
    `PostgreSQL CPU per transfer: ${before.toFixed(3)} ms without partitions, ${after.toFixed(3)} ms with, ratio ${(after / before).toFixed(3)}`,
  )
  for (const { store } of [without, partitioned]) await store.close()
}
