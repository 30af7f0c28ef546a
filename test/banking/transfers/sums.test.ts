import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/transfers/contract.ts'
import { type AccountId, type Caller, type Ratio, ratio } from '../../../src/kernel/index.ts'
import { oneOutgoingSum } from '../../../src/ledger/schema/usage.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { callerOf, insertAccount, refusalOf } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))
const dayMs = 86_400_000
const checker = systemIds.next<'account'>()

describe.each(stores)('sums of transfers on $name', ({ database }) => {
  let bank: TestBank
  beforeAll(async () => {
    bank = await createTestBank(
      database,
      { approvalThreshold: { EUR: '50.00' } },
      { above: { minor: 5_000n, currency: 'USD' }, findRate: async () => ratio(1n, 100n) },
    )
  })

  const send = (
    from: TestWallet,
    to: TestWallet,
    as: AccountId | Caller,
    amount: string,
    requestId: string = systemIds.next(),
  ) =>
    bank.call(contract.createTransfer, {
      ...{ as, workspace: from.workspace, requestId },
      body: { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount, currency: from.currency },
    })
  const person = () => insertAccount(database, `${systemIds.next()}@example.test`, bank.clock.now())
  const statusOf = async (transfer: ReturnType<typeof send>) => (await transfer).transferStatus.code

  test('transfers.create 200: split transfers of a person need approval, from any workspace', async () => {
    const [a, b, target] = [
      await bank.wallet('EUR', '100.00'),
      await bank.wallet('EUR', '100.00'),
      await bank.wallet('EUR'),
    ]
    const [ada, another] = [await person(), await person()]
    expect(await statusOf(send(a, target, ada, '30.00'))).toBe('COMPLETED')
    const pending = await send(b, target, ada, '20.00')
    expect(pending.transferStatus.code).toBe('PENDING_APPROVAL')
    expect(await statusOf(send(b, target, ada, '19.99'))).toBe('COMPLETED')
    expect(await statusOf(send(b, target, ada, '0.01'))).toBe('PENDING_APPROVAL')
    expect(await statusOf(send(b, target, another, '30.00'))).toBe('COMPLETED')
    await bank.call(contract.approveTransfer, { as: checker, params: { order_id: pending.bizId } })
    bank.clock.advance(dayMs)
    expect(await statusOf(send(b, target, ada, '20.00'))).toBe('COMPLETED')
  })

  test('transfers.create 200: parallel transfers without approval stay below the threshold', async () => {
    const target = await bank.wallet('EUR')
    const wallets = await Promise.all(Array.from({ length: 4 }, () => bank.wallet('EUR', '100.00')))
    const ada = await person()
    const statuses = await Promise.all(
      Array.from({ length: 24 }, (_, i) => statusOf(send(wallets[i % 4] ?? target, target, ada, '10.00'))),
    )
    expect(statuses.filter((status) => status === 'COMPLETED')).toHaveLength(4)
    expect(statuses.filter((status) => status === 'PENDING_APPROVAL')).toHaveLength(20)
    expect(await bank.available(target)).toBe('40.00')
  })

  test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: above the sum; nothing moves; the same id then succeeds', async () => {
    const [a, b, target] = [
      await bank.wallet('USD', '99.00'),
      await bank.wallet('USD', '99.00'),
      await bank.wallet('USD'),
    ]
    const ada = callerOf(await person())
    await send(a, target, ada, '50.00')
    const id = systemIds.next()
    expect(await refusalOf(send(b, target, ada, '0.01', id))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await bank.available(b)).toBe('99.00')
    const steppedUp = { ...ada, steppedUpAt: bank.clock.now() }
    const created = await send(b, target, steppedUp, '0.01', id)
    expect(await send(b, target, ada, '0.01', id)).toEqual(created)
    expect(await refusalOf(send(b, target, ada, '0.01'))).toBe('ACCESS.STEP_UP_REQUIRED')
    bank.clock.advance(dayMs)
    expect(await refusalOf(send(b, target, ada, '50.00'))).toBe('none')
  })

  test('transfers.create 200: transfers inside the workspace need no step-up and do not count', async () => {
    const a = await bank.wallet('USD', '100.00')
    const inside = await bank.wallet('USD', undefined, a.workspace)
    const ada = callerOf(await person())
    await send(a, inside, ada, '60.00')
    expect(await refusalOf(send(a, await bank.wallet('USD'), ada, '40.00'))).toBe('none')
    expect(await refusalOf(send(inside, await bank.wallet('USD'), ada, '10.01'))).toBe('ACCESS.STEP_UP_REQUIRED')
  })

  test('transfers.create 200: one statement if no sum is configured', async () => {
    let statements = 0
    const counting = database.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const counted = await createTestBank(counting)
    const [source, target] = [await counted.wallet('USD', '10.00'), await counted.wallet('USD')]
    statements = 0
    await counted.call(contract.createTransfer, {
      ...{ as: await person(), workspace: source.workspace },
      body: { sourceWalletBizId: source.id, targetWalletBizId: target.id, amount: '1.00', currency: 'USD' },
    })
    expect(statements).toBe(1)
  })

  test('transfers.create 422 WALLET.LIMIT_EXCEEDED: an API key above the sum', async () => {
    const [a, target] = [await bank.wallet('USD', '100.00'), await bank.wallet('USD')]
    const key = { ...callerOf(await person()), apiKeyId: systemIds.next() }
    expect(await refusalOf(send(a, target, key, '50.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    expect(await refusalOf(send(a, target, key, '50.00'))).toBe('none')
  })

  describe('one sum over currencies and kinds', () => {
    /** A third of a cent per minor unit, so that values are rounded. */
    const thirds = { EUR: ratio(1n, 3n), JPY: ratio(2n, 100n) }
    let rates: Record<string, Ratio> = thirds
    let mixed: TestBank
    beforeAll(async () => {
      mixed = await createTestBank(
        database,
        {},
        { above: { minor: 1_000n, currency: 'USD' }, findRate: async (_, { source }) => rates[source] },
      )
      // The time of an order is never before the last entry of its accounts, which other tests wrote.
      mixed.clock.advance(30 * dayMs)
    })
    const transfer = async (as: AccountId | Caller, currency: string, amount: string, from?: TestWallet) => {
      const source = from ?? (await mixed.wallet(currency, '1000'))
      const target = await mixed.wallet(currency)
      return refusalOf(
        mixed.call(contract.createTransfer, {
          ...{ as, workspace: source.workspace },
          body: { sourceWalletBizId: source.id, targetWalletBizId: target.id, amount, currency },
        }),
      )
    }

    test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: all currencies and workspaces, rounded up', async () => {
      const ada = callerOf(await person())
      // 3.34 USD, 4 USD and 2.66 USD.
      expect(await transfer(ada, 'EUR', '10.00')).toBe('none')
      expect(await transfer(ada, 'JPY', '200')).toBe('none')
      expect(await transfer(ada, 'USD', '2.67')).toBe('ACCESS.STEP_UP_REQUIRED')
      expect(await transfer(ada, 'USD', '2.66')).toBe('none')
      for (const [currency, amount] of [
        ['EUR', '0.01'],
        ['JPY', '1'],
        ['USD', '0.01'],
      ] as const)
        expect(await transfer(ada, currency, amount)).toBe('ACCESS.STEP_UP_REQUIRED')
      expect(await transfer({ ...ada, apiKeyId: systemIds.next() }, 'EUR', '0.01')).toBe('WALLET.LIMIT_EXCEEDED')
      mixed.clock.advance(dayMs)
      expect(await transfer(ada, 'USD', '10.00')).toBe('none')
    })

    test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: a currency without a rate is above the sum, and so is the day', async () => {
      const ada = callerOf(await person())
      rates = { EUR: thirds.EUR }
      expect(await transfer(ada, 'JPY', '1')).toBe('ACCESS.STEP_UP_REQUIRED')
      expect(await transfer(ada, 'EUR', '0.01')).toBe('none')
      expect(await transfer({ ...ada, steppedUpAt: mixed.clock.now() }, 'JPY', '1')).toBe('none')
      rates = thirds
      expect(await transfer(ada, 'EUR', '0.01')).toBe('ACCESS.STEP_UP_REQUIRED')
    })

    test('transfers.create 403 ACCESS.STEP_UP_REQUIRED: an order counts at the rate of its time', async () => {
      const ada = callerOf(await person())
      expect(await transfer(ada, 'EUR', '30.00')).toBe('none')
      rates = { EUR: ratio(1n, 3_000n) }
      expect(await transfer(ada, 'EUR', '0.01')).toBe('ACCESS.STEP_UP_REQUIRED')
      rates = thirds
    })

    test('transfers.create: parallel transfers in several currencies never exceed the sum', async () => {
      const ada = callerOf(await person())
      const wallets = await Promise.all(['USD', 'EUR', 'JPY'].map((currency) => mixed.wallet(currency, '1000')))
      const amounts: Record<string, string> = { USD: '1.00', EUR: '3.00', JPY: '50' }
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, i) => {
          const from = wallets[i % 3]
          if (!from) throw new Error('no wallet')
          return transfer(ada, from.currency, amounts[from.currency] ?? '', from)
        }),
      )
      expect(results.filter((code) => code === 'none')).toHaveLength(10)
    })

    test('transfers.create 403: amounts that the previous release counted, by kind and currency', async () => {
      const account = await person()
      const { workspace } = await mixed.wallet('USD')
      const earlier = (usageOf: string, currency: string) =>
        mixed.ledger.execute({
          actor: account,
          parties: [],
          create: {
            ...{ workspace, type: 'RECHARGE', data: {}, steps: [{ status: 'PENDING_PAYMENT' }] },
            usage: [{ of: 'PERSON', usageOf, amount: { minor: 400n, currency }, max: null, exceeded: null }],
          },
        })
      await earlier('TRANSFER', 'USD')
      await earlier('WITHDRAWAL', 'USD')
      await sql`UPDATE ledger_usage SET usage_of = 'WITHDRAWAL' WHERE workspace_biz_id = ${workspace}`.execute(database)
      const rename = oneOutgoingSum.at(-1) ?? ''
      await sql.raw(rename).execute(database)
      expect(await transfer(callerOf(account), 'USD', '2.01')).toBe('ACCESS.STEP_UP_REQUIRED')
      expect(await transfer(callerOf(account), 'USD', '2.00')).toBe('none')
      await earlier('TRANSFER', 'EUR')
      mixed.clock.advance(dayMs - 1)
      expect(await transfer(callerOf(account), 'USD', '0.01')).toBe('ACCESS.STEP_UP_REQUIRED')
      mixed.clock.advance(1)
      expect(await transfer(callerOf(account), 'USD', '10.00')).toBe('none')
    })
  })
})
