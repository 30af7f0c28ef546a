import { afterAll, describe, expect, test } from 'vitest'
import { refusalOf } from '../../banking/world.ts'
import { needs } from '../../harness/needs.ts'
import { everyStore, lockWaits } from '../stores.ts'
import { createTestBank } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const seven = { minor: 700n, currency: 'USD' }

describe.each(stores)('closed wallets on $name', ({ name, database }) => {
  const openWallet = async () => {
    const bank = await createTestBank(database)
    const { id: wallet, workspace } = await bank.wallet('USD')
    const at = bank.clock.now()
    await bank.ledger.changeWalletStatus({ wallet, from: 'ACTIVE', to: 'FROZEN', at })
    return {
      bank,
      close: (ledger = bank.ledger) => ledger.changeWalletStatus({ wallet, from: 'FROZEN', to: 'CLOSED', at }),
      // Like a returned payout, which may be credited to a frozen wallet.
      credit: () => refusalOf(bank.ledger.fundWallet({ wallet, workspace, amount: seven, actor: null })),
    }
  }

  test('a credit that a frozen wallet may get: WALLET.NOT_ACTIVE once it is closed', async () => {
    const { bank, close, credit } = await openWallet()
    expect(await close()).toBe(true)
    expect(await credit()).toBe('WALLET.NOT_ACTIVE')
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test(
    'a credit that waits while the wallet is closed: WALLET.NOT_ACTIVE',
    needs(name === 'PostgreSQL', 'the embedded store has one connection'),
    async () => {
      const { bank, close, credit } = await openWallet()
      const release = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      const closing = database.transaction().execute(async (tx) => {
        await close(bank.ledger.within(tx))
        closed.resolve()
        await release.promise
      })
      await closed.promise
      const crediting = credit()
      await expect.poll(() => lockWaits(database)).toBe(1)
      release.resolve()
      await closing
      expect(await crediting).toBe('WALLET.NOT_ACTIVE')
      expect(await bank.ledger.verifyLedger()).toBeNull()
    },
  )
})
