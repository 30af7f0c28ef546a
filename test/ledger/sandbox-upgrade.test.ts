import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createBook } from './book.ts'
import { storeBefore } from './upgrade.ts'

test('a sandbox that is there already takes over from the house what its wallets have', async () => {
  const { database, upgrade, close } = await storeBefore('050')
  const book = await createBook(database)
  const live = await book.wallet('USD', '5.00')
  const play = await book.wallet('USD', '70.00', await book.workspace('SANDBOX'))
  const yen = await book.wallet('JPY', '9', play.workspace)

  await upgrade()
  const house = await sql<{ currency: string; balance: bigint }>`SELECT currency, balance FROM ledger_accounts
    WHERE workspace_biz_id IS NULL AND kind = 'CLEARING' ORDER BY currency`.execute(database)
  expect(house.rows).toEqual([
    { currency: 'JPY', balance: 0n },
    { currency: 'USD', balance: -500n },
  ])
  expect(await Promise.all([live, play, yen].map(book.available))).toEqual(['5.00', '70.00', '9'])
  expect(await book.ledger.verifyBook()).toBeNull()
  await close()
})
