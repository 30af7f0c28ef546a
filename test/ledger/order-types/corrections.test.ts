import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as withdrawals from '../../../src/banking/withdrawals/contract.ts'
import { collectLedgerTypes } from '../../../src/contract/ledger/ledger-types.ts'
import { addMs, codedFamily, type OrderId } from '../../../src/kernel/index.ts'
import * as ledgerContract from '../../../src/ledger/contract.ts'
import { expireOrders, type Ledger, type OrderMove } from '../../../src/ledger/index.ts'
import { orderType } from '../../../src/ledger/order-types/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'
import { bonds } from './bonds.ts'
import { amount, createDesk, disableDomainRules, lifeMs, replicaOf } from './desk.ts'

/** A later release of Portico gives its own order type a status that the baseline does not know. */
const returnable = orderType('WITHDRAWAL', {
  ...withdrawals.withdrawals,
  statuses: codedFamily('withdrawalStatus', { ...withdrawals.withdrawalStatus.values, RECALLED: 20098101 }),
  moves: {
    ...withdrawals.withdrawals.moves,
    giveBack: {
      ...{ by: 'operator', permission: 'withdrawal:settle', afterEnd: true, whileFrozen: true },
      ...{ from: ['COMPLETED'], to: ['RECALLED'], limits: 'RETURNED' },
    },
  },
})

const laterTypes = collectLedgerTypes({ ledger: ledgerContract, withdrawals: { returnable } })

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('moves out of a final status on $name', ({ database }) => {
  let bank: TestBank
  let replicas: [Ledger, Ledger]
  let wallet: TestWallet
  beforeAll(async () => {
    bank = await createTestBank(database)
    await disableDomainRules(database)
    replicas = [replicaOf(database, bank), replicaOf(database, bank)]
    await replicas[0].registerTypes()
    wallet = await bank.wallet('USD', '1000.00')
  })

  const account = () => systemIds.next<'account'>()
  const deskOf = (ledger: Ledger = replicas[0], of = wallet) =>
    createDesk(bonds, { ledger, clock: bank.clock, wallet: of })
  const completed = async (of = wallet) => {
    const desk = deskOf(replicas[0], of)
    const [member, first, second] = [account(), account(), account()]
    const { bizId: id } = await desk.open('create', { as: member })
    await desk.make('approve', { as: first, id })
    await desk.make('complete', { as: second, id })
    return { id, member, first, second }
  }
  const expired = async (of = wallet) => {
    const member = account()
    const { bizId: id } = await deskOf(replicas[0], of).open('create', { as: member })
    bank.clock.advance(lifeMs)
    return { id, member }
  }
  const stateOf = async (id: OrderId) => {
    const { status, history } = await replicas[0].readOrder({ id, type: 'BOND', workspace: null })
    return { status, history: history.map((step) => step.status) }
  }
  const usedBy = (actor = account(), of = wallet) =>
    replicas[0].readUsage({
      ...{
        of: 'WORKSPACE',
        usageOf: 'BOND TEST',
        workspace: of.workspace,
        actor,
        currency: 'USD',
        at: bank.clock.now(),
      },
    })

  test('execute 409: of 8 operators on two replicas, one returns a payout, and the funds come back once', async () => {
    const before = await bank.available(wallet)
    const { id } = await completed()
    expect(Number(await bank.available(wallet))).toBe(Number(before) - 5)
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        refusalOf(deskOf(replicas[turn % 2]).make('giveBack', { as: account(), id })),
      ),
    )
    expect(codes.toSorted()).toEqual([...Array(7).fill('STATE.CONFLICT'), 'none'])
    expect(await bank.available(wallet)).toBe(before)
    expect(await stateOf(id)).toEqual({
      ...{ status: 'RETURNED', history: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'RETURNED'] },
    })
    expect(await replicas[0].verifyLedger()).toBeNull()
  })

  test('execute 403: a person who created, approved or completed the order does not return it', async () => {
    const { id, member, first, second } = await completed()
    for (const as of [member, first, second])
      expect(await refusalOf(deskOf().make('giveBack', { as, id }))).toBe('ACCESS.PERMISSION_DENIED')
    expect((await stateOf(id)).status).toBe('COMPLETED')
  })

  test('execute: the return of a payout gives its limits back, and a repeated request changes nothing', async () => {
    const of = await bank.wallet('USD', '100.00')
    const { id } = await completed(of)
    expect((await usedBy(account(), of)).minor).toBe(amount)
    const request = { as: account(), id, requestId: systemIds.next<'order'>() }
    const reply = await deskOf(replicas[0], of).make('giveBack', request)
    expect((await usedBy(account(), of)).minor).toBe(0n)
    expect(await deskOf(replicas[1], of).make('giveBack', request)).toEqual(reply)
    expect(await bank.available(of)).toBe('100.00')
  })

  test('execute: an expired order is completed later, on record and counted for its creator', async () => {
    const of = await bank.wallet('USD', '100.00')
    const { id, member } = await expired(of)
    const operator = account()
    await deskOf(replicas[0], of).make('revive', { as: operator, id })
    expect(await stateOf(id)).toEqual({
      ...{ status: 'COMPLETED', history: ['PENDING_APPROVAL', 'EXPIRED', 'COMPLETED'] },
    })
    const { rows } = await sql<{ action: string }>`
      SELECT action FROM audit_log WHERE target_biz_id = ${id} ORDER BY action`.execute(database)
    expect(rows.map(({ action }) => action)).toEqual(['bonds.expire', 'tests.create', 'tests.revive'])
    const sumOf = (actor: typeof member) =>
      replicas[0].readUsage({
        ...{
          of: 'PERSON',
          usageOf: 'BOND TEST',
          workspace: of.workspace,
          actor,
          currency: 'USD',
          at: bank.clock.now(),
        },
      })
    expect((await usedBy(member, of)).minor).toBe(amount)
    expect([(await sumOf(member)).minor, (await sumOf(operator)).minor]).toEqual([amount, 0n])
    expect(await bank.available(of)).toBe('100.00')
  })

  test('execute 422 WALLET.LIMIT_EXCEEDED: a move that counts an amount above its maximum', async () => {
    const of = await bank.wallet('USD', '100.00')
    const { id } = await expired(of)
    const refused = deskOf(replicas[0], of).make('revive', { as: account(), id, max: amount - 1n })
    expect(await refusalOf(refused)).toBe('WALLET.LIMIT_EXCEEDED')
    // The expiry is recorded in any case.
    expect((await stateOf(id)).status).toBe('EXPIRED')
    expect(await refusalOf(deskOf(replicas[0], of).make('revive', { as: account(), id, max: amount }))).toBe('none')
  })

  test('execute 409: of 8 operators on two replicas, one completes an expired order', async () => {
    const { id } = await expired()
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        refusalOf(deskOf(replicas[turn % 2]).make('revive', { as: account(), id })),
      ),
    )
    expect(codes.toSorted()).toEqual([...Array(7).fill('STATE.CONFLICT'), 'none'])
    expect((await stateOf(id)).history).toEqual(['PENDING_APPROVAL', 'EXPIRED', 'COMPLETED'])
    expect(await replicas[0].verifyLedger()).toBeNull()
  })

  test('expire: an expiry, a cancellation and an approval at the same time end the hold at most once', async () => {
    // The clock of this replica is behind, so it does not know yet that the order has expired.
    const clock = { now: () => addMs(bank.clock.now(), -lifeMs) }
    for (let round = 0; round < 8; round++) {
      const of = await bank.wallet('USD', '100.00')
      const late = createDesk(bonds, { ledger: replicaOf(database, { clock }), clock, wallet: of })
      const { id, member } = await expired(of)
      const [, cancelled, approved] = await Promise.all([
        expireOrders(replicas[0], bonds, { requestId: 'job', workspace: of.workspace }),
        refusalOf(late.make('cancel', { as: member, id })),
        refusalOf(late.make('approve', { as: account(), id })),
      ])
      const { status, history } = await stateOf(id)
      expect(history).toHaveLength(2)
      expect([cancelled, approved].filter((code) => code === 'none')).toHaveLength(status === 'EXPIRED' ? 0 : 1)
      expect(await bank.available(of)).toBe(status === 'PROCESSING' ? '95.00' : '100.00')
    }
    expect(await replicas[0].verifyLedger()).toBeNull()
  })

  test('the store rejects a change of a final status that no move declares', async () => {
    const { id } = await completed()
    const change = (from: string, to: string) => {
      const move: OrderMove = { id, type: 'BOND', workspace: null, expected: [from], steps: [{ status: to }] }
      return replicas[0].execute({ actor: null, parties: [], move })
    }
    for (const status of ['CANCELLED', 'EXPIRED', 'PROCESSING'])
      await expect(change('COMPLETED', status)).rejects.toThrow('has ended as COMPLETED')
    await deskOf().make('giveBack', { as: account(), id })
    await expect(change('RETURNED', 'COMPLETED')).rejects.toThrow('has ended as RETURNED')
  })

  test('a later release adds a status and a return to an order type of the baseline', async () => {
    const later = replicaOf(database, bank, laterTypes)
    const desk = createDesk(returnable, { ledger: later, clock: bank.clock, wallet })
    const payOut = async () => {
      const { bizId: id } = await desk.open('create', { as: account() })
      await desk.make('approve', { as: account(), id })
      await desk.make('complete', { as: account(), id })
      return id
    }
    const early = await payOut()
    await expect(desk.make('giveBack', { as: account(), id: early })).rejects.toThrow(
      'WITHDRAWAL with the status RECALLED',
    )
    await later.registerTypes()
    // A replica of the earlier release starts once more.
    await replicas[0].registerTypes()
    const before = Number(await bank.available(wallet))
    for (const id of [early, await payOut()])
      expect((await desk.make('giveBack', { as: account(), id })).status).toBe('RECALLED')
    expect(Number(await bank.available(wallet))).toBe(before + 5)
    const move = { id: early, type: 'WITHDRAWAL', workspace: null } as const
    for (const status of ['COMPLETED', 'PROCESSING'])
      await expect(
        later.execute({ actor: null, parties: [], move: { ...move, expected: ['RECALLED'], steps: [{ status }] } }),
      ).rejects.toThrow('has ended as RECALLED')
    expect(await later.verifyLedger()).toBeNull()
  })
})
