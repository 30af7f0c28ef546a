import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as transfers from '../../../src/banking/transfers/contract.ts'
import { collectLedgerTypes, type LedgerTypes } from '../../../src/contract/ledger/ledger-types.ts'
import { type AccountId, type Money, type OrderId, Refusal } from '../../../src/kernel/index.ts'
import * as contract from '../../../src/ledger/contract.ts'
import {
  createLedger,
  feeEntries,
  feeParties,
  type Ledger,
  type OrderCommand,
  operatorDecision,
} from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { callerOf, outgoingOf, unlimitedOutgoing } from '../../banking/world.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const ledgerTypes = {
  orders: {
    CREDIT: { prefix: 'CRD', open: ['REQUESTED', 'ACTIVE'], final: ['SETTLED', 'CANCELLED'] },
    CARD_LOAD: { prefix: 'CLD', open: [], final: ['LOADED'], outgoing: true },
  },
  flowTypes: { CREDIT_PAYOUT: 20009901, CREDIT_REPAYMENT: 20009902 },
  houseAccounts: ['CREDITS'],
} as const satisfies LedgerTypes

declare global {
  interface PorticoLedger {
    testedCredits: typeof ledgerTypes
  }
}

const types = collectLedgerTypes({ ledger: contract, transfers, credits: { ledgerTypes } })
const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )
}

describe.each(stores)('orders of a type that a domain declares on $name', ({ database }) => {
  let bank: TestBank
  let ledger: Ledger
  let wallet: TestWallet
  const member = systemIds.next<'account'>()
  const operator = systemIds.next<'account'>()
  const usd = (minor: bigint): Money => ({ minor, currency: 'USD' })
  const keyOf = (account: AccountId, requestId: string, operation: string) => ({
    account,
    workspace: null,
    operation,
    requestId,
    bodyHash: 'hash',
  })

  beforeAll(async () => {
    bank = await createTestBank(database)
    ledger = createLedger({ database, clock: bank.clock, ids: systemIds, types })
    await ledger.registerTypes()
    await ledger.registerTypes()
    await ledger.ensureHouseAccounts(['USD'])
    await ledger.provideFunds('CREDITS', [usd(100_000n)])
    await ledger.provideFunds('CREDITS', [usd(100_000n)])
    wallet = await bank.wallet('USD', '1000.00')
  })

  const party = ({ id, workspace, currency }: TestWallet, label = 'target') =>
    ({ label, wallet: id, workspace, currency, active: true, currencyField: 'currency' }) as const
  const house = {
    label: 'house',
    house: 'CREDITS',
    currency: 'USD',
    insufficientFunds: 'CHANNEL.NOT_AVAILABLE',
  } as const

  /** Holds 50.00 in the wallet. */
  const request = (requestId: string = systemIds.next()): Promise<{ bizId: OrderId; orderNo: string }> =>
    ledger.execute({
      actor: member,
      idempotency: keyOf(member, requestId, 'credits.request'),
      parties: [party(wallet)],
      create: {
        workspace: wallet.workspace,
        type: 'CREDIT',
        data: { remark: 'car' },
        steps: [{ status: 'REQUESTED' }],
      },
      holds: [{ account: 'target', amount: 5_000n }],
    })
  const payOut = (id: OrderId, amount: bigint, actor = operator) =>
    ledger.execute({
      actor,
      parties: [party(wallet), house, ...feeParties(usd(100n))],
      move: { ...operatorDecision('CREDIT', id), expected: ['REQUESTED'], steps: [{ status: 'ACTIVE' }] },
      entries: [
        { account: 'house', amount: -amount, flowType: 'CREDIT_PAYOUT' },
        { account: 'target', amount, flowType: 'CREDIT_PAYOUT' },
        ...feeEntries('target', usd(100n)),
      ],
    })
  const settlement = (id: OrderId, amount: bigint, endsHolds = true): OrderCommand => ({
    actor: member,
    parties: [party(wallet), house],
    move: {
      id,
      type: 'CREDIT',
      workspace: wallet.workspace,
      expected: ['ACTIVE'],
      steps: [{ status: 'SETTLED' }],
      ...(endsHolds && { endHolds: 'RELEASED' as const }),
    },
    entries: [
      { account: 'target', amount: -amount, flowType: 'CREDIT_REPAYMENT' },
      { account: 'house', amount, flowType: 'CREDIT_REPAYMENT' },
    ],
  })

  test('execute 403 ACCESS.STEP_UP_REQUIRED: an outgoing type of a domain counts towards the sum of transfers', async () => {
    const rules = { ...unlimitedOutgoing, above: usd(1_000n) }
    const limited = createLedger({ database, clock: bank.clock, ids: systemIds, types, outgoing: rules })
    const actor = systemIds.next<'account'>()
    const load = (minor: bigint, caller = callerOf(actor), by: Ledger = limited) =>
      codeOf(
        by.execute({
          actor,
          parties: [party(wallet)],
          create: {
            ...{ workspace: wallet.workspace, type: 'CARD_LOAD', data: {}, steps: [{ status: 'LOADED' }] },
            outgoing: outgoingOf(minor, caller, bank.clock.now()),
          },
        }),
      )
    const target = await bank.wallet('USD')
    const transfer = (minor: bigint) =>
      codeOf(
        limited.execute({
          actor,
          parties: [party(wallet, 'source'), party(target)].map((each) => ({ ...each, workspace: null })),
          create: {
            ...{ workspace: wallet.workspace, type: 'TRANSFER', data: {}, steps: [{ status: 'COMPLETED' }] },
            outgoing: outgoingOf(minor, callerOf(actor), bank.clock.now()),
          },
        }),
      )
    expect(await load(600n)).toBe('none')
    expect(await transfer(401n)).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await transfer(400n)).toBe('none')
    expect(await load(1n)).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await load(1n, { ...callerOf(actor), steppedUpAt: bank.clock.now() })).toBe('none')
    await expect(load(1n, undefined, ledger)).rejects.toThrow('no rules for outgoing orders')
    const silent = { workspace: wallet.workspace, type: 'CARD_LOAD', data: {}, steps: [{ status: 'LOADED' }] } as const
    await expect(limited.execute({ actor, parties: [party(wallet)], create: silent })).rejects.toThrow(
      'CARD_LOAD is outgoing',
    )
  })

  test('execute: holds, pays out with a fee, settles, and records the status history', async () => {
    const before = Number(await bank.available(wallet))
    const { bizId, orderNo } = await request()
    expect(orderNo).toMatch(/^CRD-\d{8}-[0-9A-Z]{12}$/)
    expect(Number(await bank.available(wallet))).toBe(before - 50)
    await payOut(bizId, 20_000n)
    expect(Number(await bank.available(wallet))).toBe(before - 50 + 199)
    const settled = await ledger.execute(settlement(bizId, 20_000n))
    expect(settled.history.map(({ status }) => status)).toEqual(['REQUESTED', 'ACTIVE', 'SETTLED'])
    expect(Number(await bank.available(wallet))).toBe(before - 1)
    const read = await ledger.readOrder({ id: bizId, type: 'CREDIT', workspace: wallet.workspace })
    expect(read).toMatchObject({ orderType: 'CREDIT', status: 'SETTLED', createdBy: member })
    expect((await ledger.listPostings(bizId)).map(({ kind }) => kind).sort()).toEqual(
      ['CREDITS', 'CREDITS', 'FEE', 'WALLET', 'WALLET', 'WALLET'].sort(),
    )
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('execute: a repeated request returns its first result', async () => {
    const first = await request('credit-once')
    expect(await request('credit-once')).toEqual(first)
  })

  test('execute ACCESS.PERMISSION_DENIED: nobody decides on their own order', async () => {
    const { bizId } = await request()
    expect(await codeOf(payOut(bizId, 100n, member))).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('execute: the code of the house account if its funds are insufficient, and the order stays as it was', async () => {
    const { bizId } = await request()
    expect(await codeOf(payOut(bizId, 100_001n))).toBe('CHANNEL.NOT_AVAILABLE')
    expect((await ledger.readOrder({ id: bizId, type: 'CREDIT', workspace: null })).status).toBe('REQUESTED')
  })

  test('execute: parallel settlements of one order post once', async () => {
    const { bizId } = await request()
    await payOut(bizId, 10_000n)
    const codes = await Promise.all(Array.from({ length: 8 }, () => codeOf(ledger.execute(settlement(bizId, 10_000n)))))
    expect(codes.sort()).toEqual([...Array(7).fill('STATE.CONFLICT'), 'none'])
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('execute: rejects entries that do not sum to zero, and types and statuses that no domain declares', async () => {
    const { bizId } = await request()
    const command = settlement(bizId, 100n)
    const move = { type: 'CREDIT', id: bizId, workspace: wallet.workspace, expected: ['REQUESTED'] } as const
    const unbalanced = { ...command, move: { ...move, steps: [{ status: 'ACTIVE' }] as const } }
    await expect(
      ledger.execute({ ...unbalanced, entries: [{ account: 'house', amount: 1n, flowType: 'CREDIT_PAYOUT' }] }),
    ).rejects.toThrow(/sum to 1 USD/)
    await expect(
      ledger.execute({ actor: member, parties: [], move: { ...move, steps: [{ status: 'LOST' }] } }),
    ).rejects.toThrow('no domain declares an order type CREDIT with the status LOST')
    // This ledger's domains do not declare the type.
    const create = { workspace: wallet.workspace, type: 'CREDIT', data: {}, steps: [{ status: 'REQUESTED' }] } as const
    await expect(bank.ledger.execute({ actor: member, parties: [], create })).rejects.toThrow(
      'no domain of this process declares the order type CREDIT',
    )
  })

  test('the store rejects undeclared flow types, order types and house accounts, and a change of an ended order', async () => {
    const { bizId } = await request()
    await payOut(bizId, 100n)
    await ledger.execute(settlement(bizId, 100n))
    const move = { type: 'CREDIT', id: bizId, workspace: null, expected: ['SETTLED'] } as const
    await expect(
      ledger.execute({ actor: null, parties: [], move: { ...move, steps: [{ status: 'ACTIVE' }] } }),
    ).rejects.toThrow('has ended as SETTLED')
    await expect(
      sql`INSERT INTO ledger_entries (account_biz_id, biz_id, transaction_biz_id, currency, amount, flow_type, created_at)
        VALUES (${wallet.id}, ${systemIds.next()}, ${systemIds.next()}, 'USD', 1, 'GIFT', now())`.execute(database),
    ).rejects.toThrow('no domain declares the flow type GIFT')
    await expect(
      sql`INSERT INTO ledger_accounts (biz_id, kind, currency, created_at, updated_at)
        VALUES (${systemIds.next()}, 'GIFTS', 'USD', now(), now())`.execute(database),
    ).rejects.toThrow('invalid kind or owner of account: GIFTS')
    await expect(sql`DELETE FROM ledger_types`.execute(database)).rejects.toThrow('append-only')
  })

  test('registerTypes: adds statuses, and rejects a type of another domain and another meaning of a status', async () => {
    const register = (owner: string, own: LedgerTypes) =>
      createLedger({
        database,
        clock: bank.clock,
        ids: systemIds,
        types: collectLedgerTypes({ ledger: contract, [owner]: { ledgerTypes: own } }),
      }).registerTypes()
    const { CREDIT } = ledgerTypes.orders
    await register('credits', { orders: { CREDIT: { ...CREDIT, open: [...CREDIT.open, 'LATE'] } } })
    await register('credits', ledgerTypes)
    const { rows } = await sql<{ statuses: object }>`SELECT statuses FROM ledger_types WHERE name = 'CREDIT'`.execute(
      database,
    )
    expect(rows[0]?.statuses).toEqual({ REQUESTED: false, ACTIVE: false, LATE: false, SETTLED: true, CANCELLED: true })
    await expect(register('cards', ledgerTypes)).rejects.toThrow('cards declares CREDIT, which credits has used')
    const reopened = { orders: { CREDIT: { ...CREDIT, open: [...CREDIT.open, 'SETTLED'], final: ['CANCELLED'] } } }
    await expect(register('credits', reopened)).rejects.toThrow('whether the status SETTLED of CREDIT is final')
  })

  test('registerTypes: of two replicas with different meanings that start in parallel, one is refused', async () => {
    for (let round = 0; round < 10; round++) {
      const register = (owner: string, open: string[], final: string[]) => {
        const own = { orders: { [`PARALLEL_${round}`]: { prefix: 'PAR', open, final } } }
        const collected = collectLedgerTypes({ ledger: contract, [owner]: { ledgerTypes: own } })
        return createLedger({ database, clock: bank.clock, ids: systemIds, types: collected }).registerTypes()
      }
      const [one, other] = round % 2 ? ['parallel', 'parallel'] : ['parallel', 'elsewhere']
      const ends = await Promise.allSettled([
        register(one, ['OPEN', 'LATE'], ['DONE']),
        register(other, ['OPEN'], ['LATE', 'DONE']),
      ])
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    }
  })

  test('verifyLedger: reports an open hold of an order that ended with an own status', async () => {
    const { bizId } = await request()
    await payOut(bizId, 100n)
    await ledger.execute(settlement(bizId, 100n, false))
    expect(await ledger.verifyLedger()).toMatchObject({ rule: 'ended orders have no open holds', subject: bizId })
  })
})
