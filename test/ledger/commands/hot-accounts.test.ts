import { afterAll, describe, expect, test } from 'vitest'
import { executePosting } from '../../../src/ledger/commands/execute-store.ts'
import type { HouseParty, Party } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { types } from '../../banking/world.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** House accounts occur in nearly every order, in both directions, before or after the wallet. */
describe.each(stores)('contended accounts on $name', ({ database }) => {
  test('300 concurrent exchanges in both directions with fees: all succeed without a deadlock', async () => {
    const bank = await createTestBank(database)
    const wallets: { usd: TestWallet; eur: TestWallet }[] = []
    for (let i = 0; i < 10; i++) {
      const usd = await bank.wallet('USD', '100.00')
      wallets.push({ usd, eur: await bank.wallet('EUR', '100.00', usd.workspace) })
    }
    await bank.ledger.provideFunds('LIQUIDITY', [
      { minor: 100_000n, currency: 'USD' },
      { minor: 100_000n, currency: 'EUR' },
    ])
    const house = (label: string, kind: HouseParty['house'], currency: string): Party => ({
      label,
      house: kind,
      currency,
      insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
    })
    const exchange = ({ usd, eur }: { usd: TestWallet; eur: TestWallet }, turn: number) => {
      const [source, target] = turn % 2 === 0 ? [usd, eur] : [eur, usd]
      const wallet = (label: string, { id, workspace, currency }: TestWallet): Party => ({
        label,
        wallet: id,
        workspace,
        currency,
        active: true,
        currencyField: 'currency',
      })
      const parties = [
        wallet('source', source),
        wallet('target', target),
        house('receivingLiquidity', 'LIQUIDITY', source.currency),
        house('payingLiquidity', 'LIQUIDITY', target.currency),
        house('fee', 'FEE', source.currency),
      ]
      // The ledger does not retry inside a transaction, so a deadlock would fail the test.
      return database.transaction().execute((tx) =>
        executePosting(
          { database: tx, clock: bank.clock, ids: systemIds, types },
          {
            actor: null,
            parties: turn % 3 === 0 ? parties.toReversed() : parties,
            entries: [
              { account: 'source', amount: -101n, flowType: 'EXCHANGE' },
              { account: 'receivingLiquidity', amount: 100n, flowType: 'EXCHANGE' },
              { account: 'fee', amount: 1n, flowType: 'FEE' },
              { account: 'payingLiquidity', amount: -90n, flowType: 'EXCHANGE' },
              { account: 'target', amount: 90n, flowType: 'EXCHANGE' },
            ],
          },
        ),
      )
    }
    await Promise.all(Array.from({ length: 30 }, (_, turn) => wallets.map((pair) => exchange(pair, turn))).flat())
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('60 concurrent postings between two accounts in both directions: no deadlock, without retries', async () => {
    const bank = await createTestBank(database)
    const pair = [await bank.wallet('USD', '100.00'), await bank.wallet('USD', '100.00')]
    const move = (parties: readonly TestWallet[]) =>
      database.transaction().execute((tx) =>
        executePosting(
          { database: tx, clock: bank.clock, ids: systemIds, types },
          {
            actor: null,
            parties: parties.map(({ id, workspace, currency }, place) => ({
              ...{ label: place === 0 ? 'source' : 'target', wallet: id, workspace, currency },
              ...{ active: true, currencyField: 'currency' },
            })),
            entries: [
              { account: 'source', amount: -1n, flowType: 'TRANSFER' },
              { account: 'target', amount: 1n, flowType: 'TRANSFER' },
            ],
          },
        ),
      )
    await Promise.all(Array.from({ length: 60 }, (_, turn) => move(turn % 2 === 0 ? pair : pair.toReversed())))
    expect(await Promise.all(pair.map(bank.available))).toEqual(['100.00', '100.00'])
  })

  test('concurrent replicas open each house account once and provide liquidity once', async () => {
    const { ledger } = await createTestBank(database)
    const start = async () => {
      await ledger.ensureHouseAccounts(['CHF', 'GBP'])
      await ledger.provideFunds('LIQUIDITY', [
        { minor: 100n, currency: 'CHF' },
        { minor: 200n, currency: 'GBP' },
      ])
    }
    await Promise.all(Array.from({ length: 8 }, start))
    for (const [currency, balance] of [
      ['CHF', 100n],
      ['GBP', 200n],
    ] as const) {
      const accounts = database.selectFrom('ledger_accounts').where('currency', '=', currency).orderBy('kind')
      expect(await accounts.select(['kind', 'balance']).execute()).toEqual([
        { kind: 'CLEARING', balance: -balance },
        { kind: 'FEE', balance: 0n },
        { kind: 'LIQUIDITY', balance },
      ])
    }
  })
})
