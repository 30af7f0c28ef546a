import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { unknownId } from '../../harness/catalogue.ts'
import type { Answer } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { payoutAccount, randomIban } from '../../harness/payout-account.ts'
import { assertOneSucceeds, codeOf, conflict, invalid, limit, notFound, reused, unavailable } from '../money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from '../withdrawals-world.ts'

const { workspace, mainUsd, mainEur } = developmentIds

describe('withdrawals', needsStore(), () => {
  let world: WithdrawalsWorld
  beforeAll(async () => {
    world = await startWithdrawalsWorld()
  })
  afterAll(() => world?.portico.stop())

  test('withdrawals.create 200: holds the funds including the fee; a replay returns the same response', async () => {
    const { data, web, system, usd, orderOf, balanceChange } = world
    const id = randomUUID()
    const body = orderOf({ remark: 'rent' })
    const create = () => web('POST', '/withdrawals', body, { id })
    let responses: Answer[] = []
    const change = await balanceChange(async () => {
      responses = await Promise.all([create(), create(), create()])
    })
    expect(change).toEqual([-100, 100])
    const first = await data(create())
    for (const { status, body } of responses)
      if (status === 200) expect(body.data).toEqual(first)
      else expect(body.code).toBe('REQUEST.IN_PROGRESS')
    expect(first).toMatchObject({
      amount: '100.00',
      feeAmount: '1.00',
      netAmount: '99.00',
      currency: 'USD',
      remark: 'rent',
      walletBizId: mainUsd,
      withdrawalChannelBizId: usd,
      withdrawalStatus: { code: 'PENDING_APPROVAL' },
      failureReason: null,
      externalReference: null,
      completedAt: null,
    })
    expect(codeOf(await web('POST', '/withdrawals', orderOf({ amount: '100.01' }), { id }))).toEqual(reused)
    expect(await data(web('GET', `/withdrawals/${first.bizId}`))).toEqual(first)
    const ofOperator = {
      workspaceKind: expect.objectContaining({ code: 'LIVE' }),
      workspaceStatus: expect.objectContaining({ code: 'ACTIVE' }),
      creatorStatus: expect.objectContaining({ code: 'ACTIVE' }),
    }
    expect(await data(system('GET', `/withdrawals/${first.bizId}`))).toEqual({ ...first, ...ofOperator })
    const listed = async (query: string, attempt: (method: string, path: string) => Promise<Answer> = web) =>
      (await data(attempt('GET', `/withdrawals?${query}`))).items.map((order: { bizId: string }) => order.bizId)
    expect(await listed(`walletId=${mainUsd}&withdrawalStatus=PENDING_APPROVAL`)).toEqual([first.bizId])
    expect(await listed(`walletId=${mainEur}`)).toEqual([])
    expect(await listed(`workspaceId=${workspace}`, system)).toEqual([first.bizId])
    expect(await listed(`workspaceId=${unknownId}`, system)).toEqual([])
    // A request id belongs to one operation, so another one can use it.
    const cancel = () => web('POST', `/withdrawals/${first.bizId}/cancel`, undefined, { id })
    expect(await balanceChange(() => data(cancel()))).toEqual([100, -100])
    // A repeated request gets the first response, even if the order has changed.
    expect(await data(create())).toEqual(first)
  })

  test('withdrawals.create 422, 404: limits, funds, unknown or pending channels; nothing is held', async () => {
    const { web, eur, createChannel, createVerifiedChannel, orderOf, balanceChange } = world
    const create = async (changed: object) => codeOf(await web('POST', '/withdrawals', orderOf(changed)))
    const pending = (await createChannel()).bizId
    const change = await balanceChange(async () => {
      expect(await create({ amount: '9.99' })).toEqual(limit)
      expect(await create({ amount: '50000.01' })).toEqual(limit)
      expect(await create({ amount: '20000.00' })).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
      expect(await create({ amount: '20.001' })).toEqual(invalid)
      expect(await create({ amount: '0.00' })).toEqual(invalid)
      expect(await create({ walletBizId: unknownId })).toEqual(notFound)
      expect(await create({ withdrawalChannelBizId: unknownId })).toEqual(notFound)
      expect(await create({ withdrawalChannelBizId: pending })).toEqual(unavailable)
      expect(await create({ withdrawalChannelBizId: eur })).toEqual(invalid)
    })
    expect(change).toEqual([0, 0])
    // The channel type has no payout in this currency.
    const token = await createVerifiedChannel({
      channelType: 'CRYPTO',
      bankCode: undefined,
      network: 'ETHEREUM',
      accountNumber: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    })
    expect(await create({ withdrawalChannelBizId: token })).toEqual(unavailable)
  })

  test('withdrawalChannels.create 409 STATE.CONFLICT: spellings sent concurrently are one account', async () => {
    const iban = randomIban()
    const spellings = [
      { bankCode: 'COBADEFF', accountNumber: iban },
      { bankCode: 'cobadeff', accountNumber: iban.toLowerCase() },
      { bankCode: 'COBADEFFXXX', accountNumber: iban.replaceAll(/.{4}/g, '$&\u00a0') },
      { bankCode: 'COBA DE FF', accountNumber: `\u200b${iban}` },
    ]
    const create = (each: object) => world.web('POST', '/withdrawal-channels', payoutAccount(each))
    await assertOneSucceeds([...spellings, ...spellings].map(create))
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: daily limit, also concurrently, without failed ones', async () => {
    const { data, web, system, eur, orderOf, create, balance } = world
    const day = { walletBizId: mainEur, withdrawalChannelBizId: eur }
    const reason = { reason: 'wrong account' }
    const ends = {
      cancel: (order: string) => web('POST', `${order}/cancel`),
      reject: (order: string) => system('POST', `${order}/reject`, reason),
      fail: async (order: string) => {
        await data(system('POST', `${order}/approve`))
        return system('POST', `${order}/fail`, reason)
      },
    }
    for (const end of Object.values(ends)) {
      const { bizId } = await create({ ...day, amount: '50.00' })
      expect(codeOf(await web('POST', '/withdrawals', orderOf({ ...day, amount: '10.01' })))).toEqual(limit)
      await data(end(`/withdrawals/${bizId}`))
    }
    const many = Array.from({ length: 12 }, () => web('POST', '/withdrawals', orderOf({ ...day, amount: '10.00' })))
    const responses = await Promise.all(many)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(6)
    for (const response of responses.filter(({ status }) => status !== 200)) expect(codeOf(response)).toEqual(limit)
    expect((await balance(mainEur))[1]).toBe(60)
  })

  test("withdrawals 404: another workspace's channel and wallet are unknown", async () => {
    const { data, web, system, orderOf, create } = world
    const kind = { workspaceName: 'Next door', workspaceKind: 'SANDBOX' }
    const other = (await data(web('POST', '/workspaces', kind))).bizId
    const theirs = await data(web('POST', '/withdrawal-channels', payoutAccount(), { workspace: other }))
    await data(system('POST', `/withdrawal-channels/${theirs.bizId}/verify`))
    const foreign = orderOf({ withdrawalChannelBizId: theirs.bizId })
    expect(codeOf(await web('POST', '/withdrawals', foreign))).toEqual(notFound)
    expect(codeOf(await web('POST', '/withdrawals', foreign, { workspace: other }))).toEqual(notFound)
    const { bizId } = await create()
    expect(codeOf(await web('GET', `/withdrawals/${bizId}`, undefined, { workspace: other }))).toEqual(notFound)
    const cancel = await web('POST', `/withdrawals/${bizId}/cancel`, undefined, { workspace: other })
    expect(codeOf(cancel)).toEqual(notFound)
    await data(web('POST', `/withdrawals/${bizId}/cancel`))
  })

  test('withdrawals.approve, complete 200: the held funds leave, the fee stays with the house', async () => {
    const { data, web, system, create, createApproved, balanceChange, postingsOf } = world
    const { bizId } = await create()
    const complete = (id?: string) =>
      system('POST', `/withdrawals/${bizId}/complete`, { externalReference: 'SEPA-1' }, id)
    expect(codeOf(await complete())).toEqual(conflict)
    const approved = await data(system('POST', `/withdrawals/${bizId}/approve`, undefined, bizId))
    expect(approved).toMatchObject({ withdrawalStatus: { code: 'PROCESSING' }, completedAt: null })
    expect(await data(system('POST', `/withdrawals/${bizId}/approve`, undefined, bizId))).toEqual(approved)
    expect(codeOf(await web('POST', `/withdrawals/${bizId}/cancel`))).toEqual(conflict)
    let completed: { bizId?: string } = {}
    const change = await balanceChange(async () => {
      completed = await data(complete(bizId))
    })
    expect(change).toEqual([0, -100])
    expect(completed).toMatchObject({
      withdrawalStatus: { code: 'COMPLETED' },
      externalReference: 'SEPA-1',
      completedAt: expect.any(String),
    })
    expect(await data(complete(bizId))).toEqual(completed)
    const history = (await data(web('GET', `/withdrawals/${bizId}`))).statusHistory
    expect(history.map((step: { status: { code: string } }) => step.status.code)).toEqual([
      'PENDING_APPROVAL',
      'PROCESSING',
      'COMPLETED',
    ])
    const flows = (await data(web('GET', `/wallets/${mainUsd}/flows`))).items.slice(0, 2)
    const body = flows.map((flow: { amount: string; flowType: { code: string } }) => [flow.flowType.code, flow.amount])
    expect(body.sort()).toEqual([
      ['FEE', '1.00'],
      ['WITHDRAWAL', '99.00'],
    ])
    expect(await postingsOf(bizId)).toEqual([
      ['CLEARING:USD', '99.00'],
      ['FEE:USD', '1.00'],
      ['WALLET', '-1.00'],
      ['WALLET', '-99.00'],
    ])
    // A payout without a body has no reference.
    const plain = await createApproved()
    const { externalReference } = await data(system('POST', `/withdrawals/${plain.bizId}/complete`))
    expect(externalReference).toBeNull()
  })

  test('withdrawals.cancel, approve 422: a request id of one order cannot be used for another', async () => {
    const { data, web, system, create } = world
    const commands = [
      {
        action: 'cancel',
        send: (id: string, key: string) => web('POST', `/withdrawals/${id}/cancel`, undefined, { id: key }),
      },
      {
        action: 'approve',
        send: (id: string, key: string) => system('POST', `/withdrawals/${id}/approve`, undefined, key),
      },
    ]
    for (const { action, send } of commands) {
      const [one, other] = [await create(), await create()]
      const key = randomUUID()
      const first = await data(send(one.bizId, key))
      expect(codeOf(await send(other.bizId, key)), action).toEqual(reused)
      expect(await data(web('GET', `/withdrawals/${other.bizId}`))).toEqual(other)
      expect(await data(send(one.bizId, key))).toEqual(first)
      await data(web('POST', `/withdrawals/${other.bizId}/cancel`))
    }
  })

  test('withdrawals.cancel, reject, fail 200: each releases the funds once and is final', async () => {
    const { data, web, system, create, createApproved, balanceChange } = world
    const reason = { reason: 'wrong account' }
    const cases = [
      { make: create, end: (id: string) => web('POST', `/withdrawals/${id}/cancel`), to: 'CANCELLED' },
      { make: create, end: (id: string) => system('POST', `/withdrawals/${id}/reject`, reason), to: 'REJECTED' },
      { make: createApproved, end: (id: string) => system('POST', `/withdrawals/${id}/fail`, reason), to: 'FAILED' },
    ]
    for (const { make, end, to } of cases) {
      let id = ''
      const change = await balanceChange(async () => {
        id = (await make()).bizId
        const ended = await data(end(id))
        const failureReason = to === 'CANCELLED' ? null : reason.reason
        expect(ended).toMatchObject({ withdrawalStatus: { code: to }, failureReason, completedAt: null })
        const after = [
          await web('POST', `/withdrawals/${id}/cancel`),
          await system('POST', `/withdrawals/${id}/approve`),
          await system('POST', `/withdrawals/${id}/reject`, reason),
          await system('POST', `/withdrawals/${id}/complete`, {}),
          await system('POST', `/withdrawals/${id}/fail`, reason),
        ]
        for (const response of after) expect(codeOf(response)).toEqual(conflict)
      })
      expect(change).toEqual([0, 0])
    }
    const { bizId } = await create()
    expect(codeOf(await system('POST', `/withdrawals/${bizId}/fail`, reason))).toEqual(conflict)
    await data(system('POST', `/withdrawals/${bizId}/approve`))
    expect(codeOf(await system('POST', `/withdrawals/${bizId}/reject`, reason))).toEqual(conflict)
    await data(system('POST', `/withdrawals/${bizId}/fail`, reason))
  })

  test('withdrawals 422 WALLET.NOT_ACTIVE on a frozen wallet; a paid withdrawal can still be completed', async () => {
    const { data, web, system, orderOf, create, createApproved } = world
    const [pending, paid] = [await create(), await createApproved()]
    await data(system('POST', `/wallets/${mainUsd}/freeze`, { reason: 'review' }))
    const frozen = [422, 'WALLET.NOT_ACTIVE']
    expect(codeOf(await web('POST', '/withdrawals', orderOf()))).toEqual(frozen)
    expect(codeOf(await system('POST', `/withdrawals/${pending.bizId}/approve`))).toEqual(frozen)
    await data(system('POST', `/withdrawals/${paid.bizId}/complete`, {}))
    await data(web('POST', `/withdrawals/${pending.bizId}/cancel`))
    await data(system('POST', `/wallets/${mainUsd}/unfreeze`, { reason: 'done' }))
  })

  test('withdrawals.approve 422 CHANNEL.NOT_AVAILABLE: the channel was disabled while the order waited', async () => {
    const { data, system, createVerifiedChannel, create, balanceChange } = world
    const channel = await createVerifiedChannel()
    const change = await balanceChange(async () => {
      const { bizId } = await create({ withdrawalChannelBizId: channel })
      await data(system('POST', `/withdrawal-channels/${channel}/reject`, { reason: 'stolen' }))
      expect(codeOf(await system('POST', `/withdrawals/${bizId}/approve`))).toEqual(unavailable)
      await data(system('POST', `/withdrawals/${bizId}/reject`, { reason: 'stolen' }))
    })
    expect(change).toEqual([0, 0])
  })

  test('withdrawals.read, approve and similar 404: unknown and malformed ids', async () => {
    const { web, system } = world
    for (const id of [unknownId, 'x']) {
      const responses = [
        await web('GET', `/withdrawals/${id}`),
        await web('POST', `/withdrawals/${id}/cancel`),
        await system('GET', `/withdrawals/${id}`),
        await system('POST', `/withdrawals/${id}/approve`),
        await system('POST', `/withdrawals/${id}/reject`, { reason: 'x' }),
        await system('POST', `/withdrawals/${id}/complete`, {}),
        await system('POST', `/withdrawals/${id}/fail`, { reason: 'x' }),
      ]
      for (const response of responses) expect(codeOf(response)).toEqual(notFound)
    }
  })

  test('withdrawals: of concurrent decisions exactly one takes effect, and the hold ends once', async () => {
    const { data, web, system, create, createApproved, balanceChange } = world
    const reason = { reason: 'race' }
    const winner = async (attempts: Promise<Answer>[]): Promise<string> =>
      (await assertOneSucceeds(attempts)).body.data.withdrawalStatus.code
    const amount = '10.00'
    // Each round starts with another request.
    const rivals = (round: number, attempts: (() => Promise<Answer>)[]) =>
      winner(
        [...attempts.slice(round % attempts.length), ...attempts.slice(0, round % attempts.length)].map((attempt) =>
          attempt(),
        ),
      )
    const [pending, spent]: [string[], number[]] = [[], []]
    const change = await balanceChange(async () => {
      for (let round = 0; round < 20; round++) {
        const { bizId } = await create({ amount })
        const on = (verb: string, body?: object) => system('POST', `/withdrawals/${bizId}/${verb}`, body)
        const cancel = () => web('POST', `/withdrawals/${bizId}/cancel`)
        const first = await rivals(round, [() => on('approve'), cancel, () => on('reject', reason)])
        pending.push(first)
        if (first !== 'PROCESSING') continue
        expect(codeOf(await cancel())).toEqual(conflict)
        await data(on('fail', reason))
      }
      for (let round = 0; round < 20; round++) {
        const { bizId } = await createApproved({ amount })
        const on = (verb: string, body: object) => system('POST', `/withdrawals/${bizId}/${verb}`, body)
        const [complete, fail] = [() => on('complete', {}), () => on('fail', reason)]
        if ((await rivals(round, [complete, fail, complete, fail])) === 'COMPLETED') spent.push(10)
      }
    })
    expect(pending).toHaveLength(20)
    expect(change).toEqual([0 - spent.length * 10, 0])
  })

  test('operators.ledgerInvariants 200: the ledger balances afterwards', async () => {
    const { data, system } = world
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})
