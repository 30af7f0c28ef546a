import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import type { Answer } from '../harness/http.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { signIn } from '../harness/sign-in.ts'
import { codeOf } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { mainUsd, mainEur, savingsUsd } = developmentIds
const fault = [500, 'SYSTEM.INTERNAL_ERROR']

type Send = (id: string) => Promise<Answer>

/** Runs by `once`, which checks the reply before the commit. */
const runByOnce = 'recharges.allowReference'

/** Decision 46: the reply of these commands is checked after the commit. */
describe('a command of Portico whose reply breaks its schema', () => {
  let world: WithdrawalsWorld
  const member =
    (path: string, body?: object): Send =>
    (id) =>
      world.web('POST', path, body, { id })
  const operator =
    (path: string, body?: object): Send =>
    (id) =>
      world.system('POST', path, body, id)
  const transferOf = (amount: string) => ({
    sourceWalletBizId: mainUsd,
    targetWalletBizId: savingsUsd,
    amount,
    currency: 'USD',
  })
  const pendingTransfer = async () =>
    (await world.data(member('/transfer/command/create', transferOf('50.00'))(randomUUID()))).bizId
  const rechargeOf = { walletBizId: mainUsd, channelCode: 'BANK_USD', amount: '100.00' }
  const recharge = async () => (await world.data(member('/recharges', rechargeOf)(randomUUID()))).bizId
  const proof = async () => {
    const file = { name: 'file', fileName: 'receipt.pdf', type: 'application/pdf', content: pdf() }
    const { headers, body } = encodeMultipart([file, { name: 'purpose', content: 'RECHARGE_PROOF' }])
    const call = { token: world.owner.accessToken, workspace: developmentIds.workspace, headers, body }
    return { fileBizId: (await world.data(world.portico.call('POST', '/web/v1/consumer/files/upload', call))).bizId }
  }
  const provedRecharge = async () => {
    const id = await recharge()
    await world.data(member(`/recharges/${id}/proof`, await proof())(randomUUID()))
    return id
  }
  const quote = async () => {
    const body = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' }
    return { quoteBizId: (await world.data(world.web('POST', '/exchanges/quote', body))).quoteBizId }
  }
  const withdrawal = async () => (await world.create({ amount: '20.00' })).bizId
  const approvedWithdrawal = async () => (await world.createApproved({ amount: '20.00' })).bizId
  const paidOut = async () => {
    const id = await approvedWithdrawal()
    await world.data(operator(`/withdrawals/${id}/complete`, {})(randomUUID()))
    return id
  }
  /** The operator who completed a withdrawal cannot return it. */
  const byChecker = async (path: string, body: object): Promise<Send> => {
    const { accessToken: token } = await signIn(world.portico, 'checker@demo.test')
    return (id) => world.portico.call('POST', `/web/v1/system${path}`, { token, body, headers: { 'x-request-id': id } })
  }
  const reason = { reason: 'wrong' }

  const commands: [id: string, prepare: () => Promise<Send>][] = [
    ['transfers.create', async () => member('/transfer/command/create', transferOf('1.00'))],
    ['transfers.approve', async () => operator(`/transfers/${await pendingTransfer()}/approve`)],
    ['transfers.cancel', async () => member(`/transfer/command/${await pendingTransfer()}/cancel`)],
    ['transfers.reject', async () => operator(`/transfers/${await pendingTransfer()}/reject`, reason)],
    ['exchanges.create', async () => member('/exchanges', await quote())],
    ['recharges.create', async () => member('/recharges', rechargeOf)],
    ['recharges.cancel', async () => member(`/recharges/${await recharge()}/cancel`, { cancelReason: 'wrong' })],
    ['recharges.proof', async () => member(`/recharges/${await recharge()}/proof`, await proof())],
    ['recharges.confirm', async () => operator(`/recharges/${await provedRecharge()}/confirm`)],
    ['recharges.reject', async () => operator(`/recharges/${await provedRecharge()}/reject`, reason)],
    ['withdrawalChannels.create', async () => member('/withdrawal-channels', payoutAccount())],
    ['withdrawals.create', async () => member('/withdrawals', world.orderOf({ amount: '20.00' }))],
    ['withdrawals.cancel', async () => member(`/withdrawals/${await withdrawal()}/cancel`)],
    ['withdrawals.approve', async () => operator(`/withdrawals/${await withdrawal()}/approve`)],
    ['withdrawals.reject', async () => operator(`/withdrawals/${await withdrawal()}/reject`, reason)],
    ['withdrawals.complete', async () => operator(`/withdrawals/${await approvedWithdrawal()}/complete`)],
    ['withdrawals.fail', async () => operator(`/withdrawals/${await approvedWithdrawal()}/fail`, reason)],
    ['withdrawals.return', async () => byChecker(`/withdrawals/${await paidOut()}/return`, reason)],
  ]

  const breakReply = (id: string): (() => void) => {
    const reply = catalogue.find((operation) => operation.id === id)?.reply
    if (!(reply instanceof z.ZodType)) throw new Error(`${id} has no JSON reply`)
    const { error } = z.never().safeParse(null)
    if (!error) throw new Error('never')
    const spy = vi.spyOn(reply, 'safeParse').mockReturnValue({ success: false, error })
    onTestFinished(() => spy.mockRestore())
    return () => spy.mockRestore()
  }

  /** Balances, orders and payout accounts. */
  const state = async () => {
    const read = (path: string) => world.data(world.web('GET', path))
    const lists = ['/transfer/query/orders?pageSize=100', '/exchanges', '/recharges', '/withdrawals']
    return {
      balances: await Promise.all(
        [mainUsd, mainEur, savingsUsd].map((wallet) => read(`/wallets/${wallet}/balance`)),
      ).then((balances) => balances.map(({ availableBalance, heldBalance }) => [availableBalance, heldBalance])),
      orders: await Promise.all(lists.map(read)).then((pages) =>
        pages.map(({ items, pagination }) => [
          pagination.totalRecords,
          items.map(({ bizId, version }: { bizId: string; version: number }) => [bizId, version]),
        ]),
      ),
      channels: (await read('/withdrawal-channels')).length,
    }
  }

  beforeAll(async () => {
    world = await startWithdrawalsWorld((settings) => {
      settings.money.transferApprovalFrom = { USD: '50.00' }
    })
    world.portico.expectFault(({ code }) => code === fault[1])
  })
  afterAll(() => world?.portico.stop())

  test('covers every idempotent command', () => {
    const ids = catalogue.flatMap(({ id, policy }) => (policy.idempotent && id !== runByOnce ? [id] : []))
    expect(commands.map(([id]) => id).sort()).toEqual(ids.sort())
  })

  test.each(commands)(
    '%s 500 SYSTEM.INTERNAL_ERROR: each retry fails alike, with one effect',
    async (operation, prepare) => {
      const sendWith = await prepare()
      const id = randomUUID()
      const before = await state()
      const repair = breakReply(operation)
      expect(codeOf(await sendWith(id))).toEqual(fault)
      const after = await state()
      expect(after).not.toEqual(before)
      for (let retry = 1; retry <= 2; retry++) expect(codeOf(await sendWith(id))).toEqual(fault)
      repair()
      expect(await state()).toEqual(after)
      const { bizId } = await world.data(sendWith(id))
      expect((await world.data(sendWith(id))).bizId).toBe(bizId)
      expect(await state()).toEqual(after)
    },
  )
})
