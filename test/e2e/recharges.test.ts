import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { unknownId } from '../harness/catalogue.ts'
import type { Answer } from '../harness/http.ts'
import { assertOneSucceeds, codeOf, conflict, invalid, limit, notFound, reused, unavailable } from './money-world.ts'
import { cancelReason, type RechargesWorld, reason, startRechargesWorld, stepsOf } from './recharges-world.ts'

const { workspace, mainUsd, mainEur } = developmentIds

describe('recharges', () => {
  let world: RechargesWorld
  beforeAll(async () => {
    world = await startRechargesWorld(({ money: { recharge } }) => {
      const [first] = recharge.channels
      if (!first) throw new Error('no channel')
      for (const channel of recharge.channels)
        if (channel.channelCode === 'BANK_EUR') Object.assign(channel, { maxAmount: '50.00', dailyMax: '60.00' })
      for (const channel of recharge.channels) if (channel.currency === 'USD') channel.dailyMax = '900000.00'
      recharge.channels.push({ ...first, channelCode: 'CLOSED_USD', enabled: false })
    })
  })
  afterAll(() => world?.portico.stop())

  test('recharges.availableChannels 200: the enabled ones of a currency', async () => {
    const { data, web } = world
    const all = await data(web('GET', '/recharges/available-channels'))
    const codes = all.map(({ channelCode }: { channelCode: string }) => channelCode)
    expect(codes).toEqual(['BANK_USD', 'BANK_EUR', 'CARD_USD', 'CARD_EUR'])
    const usd = await data(web('GET', '/recharges/available-channels?currency=USD'))
    expect(usd).toHaveLength(2)
    expect(usd[1]).toMatchObject({
      channelCode: 'CARD_USD',
      channelType: { code: 'CARD' },
      currency: 'USD',
      minAmount: '5.00',
      maxAmount: '5000.00',
      fixedFee: '0.30',
      feeRate: '0.029',
      proofRequired: false,
      enabled: true,
    })
    expect(await data(web('GET', '/recharges/available-channels?currency=JPY'))).toEqual([])
  })

  test('recharges.quote 200: the fee by tariff, rounded up; nothing is stored', async () => {
    const { data, web, orderOf } = world
    const card = orderOf({ channelCode: 'CARD_USD', amount: '33.33' })
    expect(await data(web('POST', '/recharges/quote', card))).toEqual({
      walletBizId: mainUsd,
      channelCode: 'CARD_USD',
      amount: '33.33',
      currency: 'USD',
      feeAmount: '1.27',
      netAmount: '32.06',
    })
    expect((await data(web('GET', '/recharges'))).items).toEqual([])
  })

  test('recharges.create 200: awaits payment; a replay returns the same response, another body 422', async () => {
    const { data, web, system, orderOf, balanceChange } = world
    const id = randomUUID()
    const change = await balanceChange(async () => {
      const create = () => web('POST', '/recharges', orderOf(), { id })
      const responses = await Promise.all([create(), create(), create()])
      const first = await data(create())
      for (const { status, body } of responses)
        if (status === 200) expect(body.data).toEqual(first)
        else expect(body.code).toBe('REQUEST.IN_PROGRESS')
      expect(first).toMatchObject({
        workspaceBizId: workspace,
        walletBizId: mainUsd,
        channelCode: 'BANK_USD',
        amount: '100.00',
        feeAmount: '0.00',
        netAmount: '100.00',
        rechargeStatus: { code: 'PENDING_PAYMENT' },
        proofFileBizId: null,
        cancelReason: null,
        rejectReason: null,
        completedAt: null,
      })
      expect(Date.parse(first.expiresAt) - Date.parse(first.createdAt)).toBeGreaterThan(86_399_000)
      const other = await web('POST', '/recharges', orderOf({ amount: '99.00' }), { id })
      expect(codeOf(other)).toEqual(reused)
      expect(await data(web('GET', `/recharges/${first.bizId}`))).toEqual(first)
      const ofOperator = {
        workspaceKind: expect.objectContaining({ code: 'LIVE' }),
        workspaceStatus: expect.objectContaining({ code: 'ACTIVE' }),
        creatorStatus: expect.objectContaining({ code: 'ACTIVE' }),
      }
      expect(await data(system('GET', `/recharges/${first.bizId}`))).toEqual({ ...first, ...ofOperator })
      const listed = async (query: string, decideOn: typeof web | typeof system = web) =>
        (await data(decideOn('GET', `/recharges?${query}`))).items.map(({ bizId }: { bizId: string }) => bizId)
      expect(await listed(`walletId=${mainUsd}&rechargeStatus=PENDING_PAYMENT`)).toEqual([first.bizId])
      expect(await listed('rechargeStatus=EXPIRED')).toEqual([])
      expect(await listed(`walletId=${mainEur}`)).toEqual([])
      expect(await listed(`workspaceId=${workspace}`, system)).toEqual([first.bizId])
      expect(await listed(`workspaceId=${unknownId}`, system)).toEqual([])
      await data(web('POST', `/recharges/${first.bizId}/cancel`, cancelReason))
      // A repeated request gets the first response, even if the order has changed.
      expect(await data(create())).toEqual(first)
    })
    expect(change).toBe(0)
  })

  test.each(['/recharges/quote', '/recharges'])(
    'POST %s 400, 404, 422: limits, amounts, channels, wallets',
    async (path) => {
      const { web, orderOf } = world
      const refused = async (changed: object) => codeOf(await web('POST', path, orderOf(changed)))
      expect(await refused({ amount: '9.99' })).toEqual(limit)
      expect(await refused({ amount: '100000.01' })).toEqual(limit)
      for (const amount of ['20.001', '0.00', '-1.00', '1e3', 'NaN']) expect(await refused({ amount })).toEqual(invalid)
      expect(await refused({ walletBizId: unknownId })).toEqual(notFound)
      for (const channelCode of ['CLOSED_USD', 'NONE', '__proto__'])
        expect(await refused({ channelCode })).toEqual(unavailable)
      // Money operations reject a currency other than the wallet's.
      expect(await refused({ channelCode: 'BANK_EUR' })).toEqual(invalid)
    },
  )

  test('recharges.create 422 WALLET.LIMIT_EXCEEDED: daily limit, also concurrently, without cancelled ones', async () => {
    const { data, web, orderOf, create } = world
    const day = { walletBizId: mainEur, channelCode: 'BANK_EUR' }
    const { bizId } = await create({ ...day, amount: '50.00' })
    expect(codeOf(await web('POST', '/recharges', orderOf({ ...day, amount: '10.01' })))).toEqual(limit)
    expect(codeOf(await web('POST', '/recharges/quote', orderOf({ ...day, amount: '10.01' })))).toEqual(limit)
    await data(web('POST', '/recharges/quote', orderOf({ ...day, amount: '10.00' })))
    await data(web('POST', `/recharges/${bizId}/cancel`, cancelReason))
    const many = Array.from({ length: 12 }, () => web('POST', '/recharges', orderOf({ ...day, amount: '10.00' })))
    const responses = await Promise.all(many)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(6)
    for (const response of responses.filter(({ status }) => status !== 200)) expect(codeOf(response)).toEqual(limit)
  })

  test('recharges.proof, confirm 200: credited once; replays; 409 without a proof', async () => {
    const { data, web, system, postingsOf, upload, create, balanceChange } = world
    const { bizId } = await create()
    const confirm = () => system('POST', `/recharges/${bizId}/confirm`, undefined, bizId)
    const rejected = await system('POST', `/recharges/${bizId}/reject`, reason)
    expect([codeOf(await confirm()), codeOf(rejected)]).toEqual([conflict, conflict])
    const fileBizId = await upload()
    const id = randomUUID()
    const prove = () => web('POST', `/recharges/${bizId}/proof`, { fileBizId: fileBizId.toUpperCase() }, { id })
    const shown = await data(prove())
    expect(shown).toMatchObject({ rechargeStatus: { code: 'PROOF_SUBMITTED' }, proofFileBizId: fileBizId })
    expect(await data(prove())).toEqual(shown)
    expect(codeOf(await web('POST', `/recharges/${bizId}/proof`, { fileBizId }))).toEqual(conflict)
    expect(codeOf(await web('POST', `/recharges/${bizId}/cancel`, cancelReason))).toEqual(conflict)
    const change = await balanceChange(async () => {
      const confirmed = await data(confirm())
      expect(confirmed).toMatchObject({ rechargeStatus: { code: 'COMPLETED' }, completedAt: expect.any(String) })
      expect(await data(confirm())).toEqual(confirmed)
      expect(stepsOf(confirmed)).toEqual(['PENDING_PAYMENT', 'PROOF_SUBMITTED', 'COMPLETED'])
    })
    expect(change).toBe(100)
    expect(await postingsOf(bizId)).toEqual([
      ['CLEARING:USD', '-100.00'],
      ['WALLET', '100.00'],
    ])
    for (const verb of ['confirm', 'reject'])
      expect(
        codeOf(await system('POST', `/recharges/${bizId}/${verb}`, verb === 'reject' ? reason : undefined)),
      ).toEqual(conflict)
  })

  test('recharges.confirm 200: without a proof where the channel requires none, less the fee', async () => {
    const { data, system, postingsOf, create, createProved, balanceChange } = world
    const card = { channelCode: 'CARD_USD' }
    const change = await balanceChange(async () => {
      const plain = await create(card)
      const confirmed = await data(system('POST', `/recharges/${plain.bizId}/confirm`))
      expect(confirmed).toMatchObject({ feeAmount: '3.20', netAmount: '96.80' })
      expect(stepsOf(confirmed)).toEqual(['PENDING_PAYMENT', 'COMPLETED'])
      expect(await postingsOf(plain.bizId)).toEqual([
        ['CLEARING:USD', '-3.20'],
        ['CLEARING:USD', '-96.80'],
        ['FEE:USD', '3.20'],
        ['WALLET', '96.80'],
      ])
      const shown = await createProved(card)
      await data(system('POST', `/recharges/${shown.bizId}/confirm`))
    })
    expect(change).toBe(193.6)
  })

  test('recharges.cancel, reject 200: final, and no money moves', async () => {
    const { data, web, system, upload, create, createProved, balanceChange } = world
    const fileBizId = await upload()
    const cases = [
      { make: create, end: (id: string) => web('POST', `/recharges/${id}/cancel`, cancelReason), to: 'CANCELLED' },
      { make: createProved, end: (id: string) => system('POST', `/recharges/${id}/reject`, reason), to: 'REJECTED' },
    ]
    for (const { make, end, to } of cases) {
      const change = await balanceChange(async () => {
        const { bizId: id } = await make()
        expect(await data(end(id))).toMatchObject({
          rechargeStatus: { code: to },
          cancelReason: to === 'CANCELLED' ? cancelReason.cancelReason : null,
          rejectReason: to === 'REJECTED' ? reason.reason : null,
          completedAt: null,
        })
        const after = [
          await web('POST', `/recharges/${id}/cancel`, cancelReason),
          await web('POST', `/recharges/${id}/proof`, { fileBizId }),
          await system('POST', `/recharges/${id}/confirm`),
          await system('POST', `/recharges/${id}/reject`, reason),
        ]
        for (const response of after) expect(codeOf(response)).toEqual(conflict)
      })
      expect(change).toBe(0)
    }
  })

  test("recharges 404: another workspace's recharges, wallets and files are unknown", async () => {
    const { data, web, upload, orderOf, create } = world
    const kind = { workspaceName: 'Next door', workspaceKind: 'SANDBOX' }
    const other = (await data(web('POST', '/workspaces', kind))).bizId
    const there = { workspace: other }
    expect(codeOf(await web('POST', '/recharges', orderOf(), there))).toEqual(notFound)
    const { bizId } = await create()
    const [theirs, ours] = [await upload({ where: other }), await upload()]
    for (const fileBizId of [theirs, unknownId])
      expect(codeOf(await web('POST', `/recharges/${bizId}/proof`, { fileBizId }))).toEqual(notFound)
    const responses = [
      await web('GET', `/recharges/${bizId}`, undefined, there),
      await web('POST', `/recharges/${bizId}/cancel`, cancelReason, there),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId: theirs }, there),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId: ours }, there),
    ]
    for (const response of responses) expect(codeOf(response)).toEqual(notFound)
    expect((await data(web('GET', '/recharges', undefined, there))).items).toEqual([])
    await data(web('POST', `/recharges/${bizId}/cancel`, cancelReason))
  })

  test('recharges.read, cancel and similar 404: unknown and malformed ids', async () => {
    const { web, system } = world
    for (const id of [unknownId, 'x']) {
      const responses = [
        await web('GET', `/recharges/${id}`),
        await web('POST', `/recharges/${id}/cancel`, cancelReason),
        await web('POST', `/recharges/${id}/proof`, { fileBizId: unknownId }),
        await system('GET', `/recharges/${id}`),
        await system('POST', `/recharges/${id}/confirm`),
        await system('POST', `/recharges/${id}/reject`, reason),
      ]
      for (const response of responses) expect(codeOf(response)).toEqual(notFound)
    }
  })

  test('recharges 422 WALLET.NOT_ACTIVE on a frozen wallet: quote, create and confirm', async () => {
    const { data, web, system, orderOf, createProved } = world
    const { bizId } = await createProved()
    await data(system('POST', `/wallets/${mainUsd}/freeze`, { reason: 'review' }))
    const refused = [
      await web('POST', '/recharges/quote', orderOf()),
      await web('POST', '/recharges', orderOf()),
      await system('POST', `/recharges/${bizId}/confirm`),
    ]
    for (const { body } of refused) expect(body.code).toBe('WALLET.NOT_ACTIVE')
    await data(system('POST', `/wallets/${mainUsd}/unfreeze`, { reason: 'reviewed' }))
    await data(system('POST', `/recharges/${bizId}/confirm`))
  })

  test('recharges: of concurrent decisions exactly one takes effect, and the money is credited once', async () => {
    const { web, system, upload, create, createProved, balanceChange } = world
    let gained = 0
    const winner = async (attempts: Promise<Answer>[]) => {
      const { rechargeStatus, netAmount } = (await assertOneSucceeds(attempts)).body.data
      if (rechargeStatus.code === 'COMPLETED') gained += Number(netAmount)
    }
    const change = await balanceChange(async () => {
      for (let round = 0; round < 20; round++) {
        const { bizId: unpaid } = await create()
        const fileBizId = await upload()
        const decideOn = (id: string, verb: string, body?: object) => web('POST', `/recharges/${id}/${verb}`, body)
        const decide = (id: string, verb: string, body?: object) => system('POST', `/recharges/${id}/${verb}`, body)
        await winner([
          decideOn(unpaid, 'cancel', cancelReason),
          decideOn(unpaid, 'proof', { fileBizId }),
          decideOn(unpaid, 'cancel', cancelReason),
          decideOn(unpaid, 'proof', { fileBizId }),
        ])
        const { bizId: plain } = await create({ channelCode: 'CARD_USD' })
        await winner([decide(plain, 'confirm'), decideOn(plain, 'cancel', cancelReason), decide(plain, 'confirm')])
        const { bizId: shown } = await createProved()
        await winner([
          decide(shown, 'confirm'),
          decide(shown, 'reject', reason),
          decide(shown, 'confirm'),
          decide(shown, 'reject', reason),
        ])
      }
    })
    expect(change).toBe(Math.round(gained * 100) / 100)
  }, 180_000)

  test('operators.ledgerInvariants 200: the ledger balances afterwards', async () => {
    expect(await world.data(world.system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})
