import { PGlite } from '@electric-sql/pglite'
import { Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { embeddedDialect } from '../../src/platform/database/embedded-dialect.ts'
import { migrations } from '../../src/platform/database/migrations/index.ts'
import { parsers } from '../../src/platform/database/parsers.ts'
import type { Tables } from '../../src/platform/database/tables/index.ts'
import { createBook } from './book.ts'

const isNew = (name: string): boolean => name >= '050'

test('a sandbox that is there already takes over from the house what its wallets have', async () => {
  const pglite = await PGlite.create({ parsers })
  const database = new Kysely<Tables>({ dialect: embeddedDialect(pglite) })
  const run = async (names: string[]) => {
    for (const name of names.sort()) await (await migrations[name]?.())?.up(database)
  }
  await run(Object.keys(migrations).filter((name) => !isNew(name)))
  const book = await createBook(database)
  const live = await book.wallet('USD', '5.00')
  const play = await book.wallet('USD', '70.00', await book.workspace('SANDBOX'))
  const yen = await book.wallet('JPY', '9', play.workspace)

  await run(Object.keys(migrations).filter(isNew))
  const house = await sql<{ currency: string; balance: bigint }>`SELECT currency, balance FROM ledger_accounts
    WHERE workspace_biz_id IS NULL AND kind = 'CLEARING' ORDER BY currency`.execute(database)
  expect(house.rows).toEqual([
    { currency: 'JPY', balance: 0n },
    { currency: 'USD', balance: -500n },
  ])
  expect(await Promise.all([live, play, yen].map(book.available))).toEqual(['5.00', '70.00', '9'])
  expect(await book.ledger.verifyBook()).toBeNull()
  await pglite.close()
})
