import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import * as channelContract from '../../src/contract/withdrawal-channels.ts'
import * as contract from '../../src/contract/withdrawals.ts'
import { createWithdrawalChannels } from '../../src/domains/withdrawal-channels/index.ts'
import { createWithdrawals } from '../../src/domains/withdrawals/index.ts'
import { createKeyedDigest, createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../src/platform/system/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { refusalOf, words } from '../domains/world.ts'
import type { Answer } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'
import { storeIsAvailable } from '../harness/store.ts'
import { testDatabase } from '../identity/database.ts'
import { asker } from '../ledger/ask.ts'
import { createBook } from '../ledger/book.ts'

const unknownId = '01990000-0000-7000-8000-00000000dead'
const codeOf = ({ status, body }: Answer) => [status, body?.code]
const notFound = [404, 'RESOURCE.NOT_FOUND']
const conflict = [409, 'STATE.CONFLICT']
const invalid = [400, 'VALIDATION.INVALID_PARAMETER']
const limit = [422, 'WALLET.LIMIT_EXCEEDED']
const unavailable = [422, 'CHANNEL.NOT_AVAILABLE']

const mostChannels = 20

const account = (changed: object = {}) => ({
  channelType: 'BANK',
  currency: 'USD',
  country: 'DE',
  accountHolderName: 'Ada Lovelace',
  accountNumber: `DE${randomUUID().replaceAll('-', '').slice(0, 20)}`,
  bankCode: 'COBADEFF',
  ...changed,
})

describe.skipIf(!storeIsAvailable())('withdrawals', () => {
  let portico: Portico
  let owner: Session
  let operator: Session
  let usd: string
  let eur: string
  const { workspace, mainUsd, mainEur } = developmentIds

  const web = (method: string, path: string, body?: unknown, more: { id?: string; workspace?: string } = {}) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      token: owner.accessToken,
      workspace: more.workspace ?? workspace,
      headers: { 'x-request-id': more.id ?? randomUUID() },
      ...(body !== undefined && { body }),
    })
  const system = (method: string, path: string, body?: unknown, id: string = randomUUID()) =>
    portico.call(method, `/web/v1/system${path}`, {
      token: operator.accessToken,
      headers: { 'x-request-id': id },
      ...(body !== undefined && { body }),
    })
  const data = async (asked: Promise<Answer>) => {
    const answer = await asked
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  const opened = (changed: object = {}) => data(web('POST', '/withdrawal-channels', account(changed)))
  const verified = async (changed: object = {}): Promise<string> => {
    const { bizId } = await opened(changed)
    await data(system('POST', `/withdrawal-channels/${bizId}/verify`))
    return bizId
  }
  const asked = (changed: object = {}) => ({
    walletBizId: mainUsd,
    withdrawalChannelBizId: usd,
    amount: '100.00',
    ...changed,
  })
  const made = (changed: object = {}) => data(web('POST', '/withdrawals', asked(changed)))
  const underWay = async (changed: object = {}) => {
    const { bizId } = await made(changed)
    return data(system('POST', `/withdrawals/${bizId}/approve`))
  }
  const balance = async (wallet: string = mainUsd) => {
    const { availableBalance, heldBalance } = await data(web('GET', `/wallets/${wallet}/balance`))
    return [Number(availableBalance), Number(heldBalance)]
  }
  const moved = async (work: () => Promise<unknown>, wallet: string = mainUsd) => {
    const [available = 0, held = 0] = await balance(wallet)
    await work()
    const [after = 0, heldAfter = 0] = await balance(wallet)
    return [Math.round((after - available) * 100) / 100, Math.round((heldAfter - held) * 100) / 100]
  }

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ money }) => {
        money.withdrawal.maxChannelsPerWorkspace = mostChannels
        for (const payout of money.withdrawal.payouts)
          if (payout.currency === 'EUR') Object.assign(payout, { maxAmount: '50.00', dailyMax: '60.00' })
      },
    })
    owner = await signIn(portico)
    operator = await signIn(portico, 'operator@demo.test')
    usd = await verified()
    eur = await verified({ currency: 'EUR' })
  })
  afterAll(() => portico?.stop())

  test('withdrawalChannels.create 200: masked, once per request; 409 for the same account again', async () => {
    const body = account({ accountNumber: 'DE89 3704 0044 0532 0130 00' })
    const id = randomUUID()
    const first = await web('POST', '/withdrawal-channels', body, { id })
    expect(first.body.data).toMatchObject({
      maskedAccount: '****3000',
      bankCode: 'COBADEFF',
      network: null,
      channelStatus: { code: 'PENDING_VERIFICATION' },
      rejectReason: null,
    })
    expect(first.text).not.toMatch(/3704|account(Number|Sealed)|createdBy/)
    expect((await web('POST', '/withdrawal-channels', body, { id })).body.data).toEqual(first.body.data)
    const other = await web('POST', '/withdrawal-channels', account(), { id })
    expect(codeOf(other)).toEqual([422, 'REQUEST.ID_REUSED'])
    const again = account({ accountNumber: 'de89370400440532013000' })
    expect(codeOf(await web('POST', '/withdrawal-channels', again))).toEqual(conflict)
    const crypto = await web('POST', '/withdrawal-channels', account({ channelType: 'CRYPTO' }))
    expect(codeOf(crypto)).toEqual(invalid)
    const ids = (await data(web('GET', '/withdrawal-channels?channelStatus=PENDING_VERIFICATION'))).map(
      (channel: { bizId: string }) => channel.bizId,
    )
    expect(ids).toEqual([first.body.data.bizId])
    expect(await data(web('GET', '/withdrawal-channels?channelType=CRYPTO'))).toEqual([])
    expect(await data(web('GET', '/withdrawal-channels?currency=EUR'))).toMatchObject([{ bizId: eur }])
  })

  test('withdrawalChannels.create 400: a country that does not exist', async () => {
    const answer = await web('POST', '/withdrawal-channels', account({ country: 'XX' }))
    expect(codeOf(answer)).toEqual(invalid)
    expect(answer.body.message).toContain('country')
  })

  test('withdrawalChannels.verify, reject 200: PENDING_VERIFICATION → ACTIVE → DISABLED, → REJECTED; 409 after, 404', async () => {
    const body = account()
    const { bizId } = await data(web('POST', '/withdrawal-channels', body))
    const on = (id: string, decision: 'verify' | 'reject') =>
      system('POST', `/withdrawal-channels/${id}/${decision}`, decision === 'reject' ? { reason: 'closed' } : undefined)
    expect(await data(on(bizId, 'verify'))).toMatchObject({ channelStatus: { code: 'ACTIVE' }, rejectReason: null })
    expect(codeOf(await on(bizId, 'verify'))).toEqual(conflict)
    expect(await data(on(bizId, 'reject'))).toMatchObject({
      channelStatus: { code: 'DISABLED' },
      rejectReason: 'closed',
    })
    expect(codeOf(await on(bizId, 'reject'))).toEqual(conflict)
    expect(codeOf(await on(bizId, 'verify'))).toEqual(conflict)
    expect(codeOf(await web('POST', '/withdrawals', asked({ withdrawalChannelBizId: bizId })))).toEqual(unavailable)
    const second = await data(web('POST', '/withdrawal-channels', body))
    expect(await data(on(second.bizId, 'reject'))).toMatchObject({ channelStatus: { code: 'REJECTED' } })
    expect(codeOf(await on(second.bizId, 'verify'))).toEqual(conflict)
    for (const id of [unknownId, 'x']) expect(codeOf(await on(id, 'verify'))).toEqual(notFound)
    const all = await data(system('GET', `/withdrawal-channels?channelStatus=DISABLED&workspaceId=${workspace}`))
    expect(all.items.map((channel: { bizId: string }) => channel.bizId)).toEqual([bizId])
    expect((await data(system('GET', `/withdrawal-channels?workspaceId=${unknownId}`))).items).toEqual([])
  })

  test('withdrawalChannels.create 200: the same request is the first answer, whatever became of the channel', async () => {
    const [id, body] = [randomUUID(), account()]
    const first = await data(web('POST', '/withdrawal-channels', body, { id }))
    await data(system('POST', `/withdrawal-channels/${first.bizId}/verify`))
    expect(await data(web('POST', '/withdrawal-channels', body, { id }))).toEqual(first)
    await data(system('POST', `/withdrawal-channels/${first.bizId}/reject`, { reason: 'closed' }))
    expect(await data(web('POST', '/withdrawal-channels', body, { id }))).toEqual(first)
    const { bizId: play } = await data(web('POST', '/workspaces', { workspaceName: 'Play', workspaceKind: 'SANDBOX' }))
    const gone = { id: randomUUID(), workspace: play }
    const before = await data(web('POST', '/withdrawal-channels', body, gone))
    await data(web('POST', '/sandbox/reset', undefined, { workspace: play }))
    expect(await data(web('POST', '/withdrawal-channels', body, gone))).toEqual(before)
  })

  test('withdrawalChannels.create 409: as many as a workspace may have, also at once; one that was rejected makes room', async () => {
    const { bizId: full } = await data(web('POST', '/workspaces', { workspaceName: 'Full' }))
    const one = () => web('POST', '/withdrawal-channels', account(), { workspace: full })
    const answers = await Promise.all(Array.from({ length: mostChannels + 2 }, one))
    expect(answers.filter(({ status }) => status !== 200).map(codeOf)).toEqual([conflict, conflict])
    const channels = await data(web('GET', '/withdrawal-channels', undefined, { workspace: full }))
    expect(channels).toHaveLength(mostChannels)
    await data(system('POST', `/withdrawal-channels/${channels[0].bizId}/reject`, { reason: 'unknown' }))
    expect((await one()).status).toBe(200)
    expect(codeOf(await one())).toEqual(conflict)
  })

  test('withdrawals.create 200: the funds are held at once, the fee within them; the same request is the same answer', async () => {
    const id = randomUUID()
    const body = asked({ remark: 'rent' })
    const create = () => web('POST', '/withdrawals', body, { id })
    let answers: Answer[] = []
    const change = await moved(async () => {
      answers = await Promise.all([create(), create(), create()])
    })
    expect(change).toEqual([-100, 100])
    const first = await data(create())
    for (const { status, body: told } of answers)
      if (status === 200) expect(told.data).toEqual(first)
      else expect(told.code).toBe('REQUEST.IN_PROGRESS')
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
    expect(codeOf(await web('POST', '/withdrawals', asked({ amount: '100.01' }), { id }))).toEqual([
      422,
      'REQUEST.ID_REUSED',
    ])
    expect(await data(web('GET', `/withdrawals/${first.bizId}`))).toEqual(first)
    const workspaceKind = expect.objectContaining({ code: 'LIVE' })
    expect(await data(system('GET', `/withdrawals/${first.bizId}`))).toEqual({ ...first, workspaceKind })
    const listed = async (query: string, ask: (method: string, path: string) => Promise<Answer> = web) =>
      (await data(ask('GET', `/withdrawals?${query}`))).items.map((order: { bizId: string }) => order.bizId)
    expect(await listed(`walletId=${mainUsd}&withdrawalStatus=PENDING_APPROVAL`)).toEqual([first.bizId])
    expect(await listed(`walletId=${mainEur}`)).toEqual([])
    expect(await listed(`workspaceId=${workspace}`, system)).toEqual([first.bizId])
    expect(await listed(`workspaceId=${unknownId}`, system)).toEqual([])
    expect(await moved(() => data(web('POST', `/withdrawals/${first.bizId}/cancel`)))).toEqual([100, -100])
    // The replay answers as the first time, though the order has moved on since.
    expect(await data(create())).toEqual(first)
  })

  test('withdrawals.create refuses: limits, funds, unknown, pending and other channels; nothing is held', async () => {
    const create = async (changed: object) => codeOf(await web('POST', '/withdrawals', asked(changed)))
    const pending = (await opened()).bizId
    const change = await moved(async () => {
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
    // A type of channel that the configuration has no payout for in this currency.
    const token = await verified({ channelType: 'CRYPTO', bankCode: undefined, network: 'ETHEREUM' })
    expect(await create({ withdrawalChannelBizId: token })).toEqual(unavailable)
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: the daily limit, in parallel too; what came to nothing counts no more', async () => {
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
      const { bizId } = await made({ ...day, amount: '50.00' })
      expect(codeOf(await web('POST', '/withdrawals', asked({ ...day, amount: '10.01' })))).toEqual(limit)
      await data(end(`/withdrawals/${bizId}`))
    }
    const many = Array.from({ length: 12 }, () => web('POST', '/withdrawals', asked({ ...day, amount: '10.00' })))
    const answers = await Promise.all(many)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6)
    for (const answer of answers.filter(({ status }) => status !== 200)) expect(codeOf(answer)).toEqual(limit)
    expect((await balance(mainEur))[1]).toBe(60)
  })

  test('withdrawals: another workspace’s channel and wallet are as unknown', async () => {
    const kind = { workspaceName: 'Next door', workspaceKind: 'SANDBOX' }
    const other = (await data(web('POST', '/workspaces', kind))).bizId
    const theirs = await data(web('POST', '/withdrawal-channels', account(), { workspace: other }))
    await data(system('POST', `/withdrawal-channels/${theirs.bizId}/verify`))
    const foreign = asked({ withdrawalChannelBizId: theirs.bizId })
    expect(codeOf(await web('POST', '/withdrawals', foreign))).toEqual(notFound)
    expect(codeOf(await web('POST', '/withdrawals', foreign, { workspace: other }))).toEqual(notFound)
    const { bizId } = await made()
    expect(codeOf(await web('GET', `/withdrawals/${bizId}`, undefined, { workspace: other }))).toEqual(notFound)
    const cancel = await web('POST', `/withdrawals/${bizId}/cancel`, undefined, { workspace: other })
    expect(codeOf(cancel)).toEqual(notFound)
    await data(web('POST', `/withdrawals/${bizId}/cancel`))
  })

  test('withdrawals.approve, complete 200: the held funds leave, the fee stays with the house', async () => {
    const { bizId } = await made()
    const complete = (id?: string) =>
      system('POST', `/withdrawals/${bizId}/complete`, { externalReference: 'SEPA-1' }, id)
    expect(codeOf(await complete())).toEqual(conflict)
    const approved = await data(system('POST', `/withdrawals/${bizId}/approve`, undefined, bizId))
    expect(approved).toMatchObject({ withdrawalStatus: { code: 'PROCESSING' }, completedAt: null })
    expect(await data(system('POST', `/withdrawals/${bizId}/approve`, undefined, bizId))).toEqual(approved)
    expect(codeOf(await web('POST', `/withdrawals/${bizId}/cancel`))).toEqual(conflict)
    let completed: { bizId?: string } = {}
    const change = await moved(async () => {
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
    const told = flows.map((flow: { amount: string; flowType: { code: string } }) => [flow.flowType.code, flow.amount])
    expect(told.sort()).toEqual([
      ['FEE', '1.00'],
      ['WITHDRAWAL', '99.00'],
    ])
    // Without a body a payment has no reference.
    const plain = await underWay()
    const { externalReference } = await data(system('POST', `/withdrawals/${plain.bizId}/complete`))
    expect(externalReference).toBeNull()
  })

  test('withdrawals.cancel, approve 422: an id that was used for one order is no other order’s', async () => {
    const commands = [
      {
        act: 'cancel',
        send: (id: string, key: string) => web('POST', `/withdrawals/${id}/cancel`, undefined, { id: key }),
      },
      {
        act: 'approve',
        send: (id: string, key: string) => system('POST', `/withdrawals/${id}/approve`, undefined, key),
      },
    ]
    for (const { act, send } of commands) {
      const [one, other] = [await made(), await made()]
      const key = randomUUID()
      const first = await data(send(one.bizId, key))
      expect(codeOf(await send(other.bizId, key)), act).toEqual([422, 'REQUEST.ID_REUSED'])
      expect(await data(web('GET', `/withdrawals/${other.bizId}`))).toEqual(other)
      expect(await data(send(one.bizId, key))).toEqual(first)
      await data(web('POST', `/withdrawals/${other.bizId}/cancel`))
    }
  })

  test('withdrawals.cancel, reject, fail 200: each gives the funds back once and is the last word', async () => {
    const reason = { reason: 'wrong account' }
    const cases = [
      { make: made, end: (id: string) => web('POST', `/withdrawals/${id}/cancel`), to: 'CANCELLED' },
      { make: made, end: (id: string) => system('POST', `/withdrawals/${id}/reject`, reason), to: 'REJECTED' },
      { make: underWay, end: (id: string) => system('POST', `/withdrawals/${id}/fail`, reason), to: 'FAILED' },
    ]
    for (const { make, end, to } of cases) {
      let id = ''
      const change = await moved(async () => {
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
        for (const answer of after) expect(codeOf(answer)).toEqual(conflict)
      })
      expect(change).toEqual([0, 0])
    }
    const { bizId } = await made()
    expect(codeOf(await system('POST', `/withdrawals/${bizId}/fail`, reason))).toEqual(conflict)
    await data(system('POST', `/withdrawals/${bizId}/approve`))
    expect(codeOf(await system('POST', `/withdrawals/${bizId}/reject`, reason))).toEqual(conflict)
    await data(system('POST', `/withdrawals/${bizId}/fail`, reason))
  })

  test('withdrawals on a frozen wallet 422 WALLET.NOT_ACTIVE: nothing begins or goes on; what was paid is still taken', async () => {
    const [pending, paid] = [await made(), await underWay()]
    await data(system('POST', `/wallets/${mainUsd}/freeze`, { reason: 'review' }))
    const frozen = [422, 'WALLET.NOT_ACTIVE']
    expect(codeOf(await web('POST', '/withdrawals', asked()))).toEqual(frozen)
    expect(codeOf(await system('POST', `/withdrawals/${pending.bizId}/approve`))).toEqual(frozen)
    await data(system('POST', `/withdrawals/${paid.bizId}/complete`, {}))
    await data(web('POST', `/withdrawals/${pending.bizId}/cancel`))
    await data(system('POST', `/wallets/${mainUsd}/unfreeze`, { reason: 'done' }))
  })

  test('withdrawals.approve 422 CHANNEL.NOT_AVAILABLE: the account was taken back while the order waited', async () => {
    const channel = await verified()
    const change = await moved(async () => {
      const { bizId } = await made({ withdrawalChannelBizId: channel })
      await data(system('POST', `/withdrawal-channels/${channel}/reject`, { reason: 'stolen' }))
      expect(codeOf(await system('POST', `/withdrawals/${bizId}/approve`))).toEqual(unavailable)
      await data(system('POST', `/withdrawals/${bizId}/reject`, { reason: 'stolen' }))
    })
    expect(change).toEqual([0, 0])
  })

  test('withdrawals.read, approve and their like 404: unknown and malformed ids', async () => {
    for (const id of [unknownId, 'x']) {
      const answers = [
        await web('GET', `/withdrawals/${id}`),
        await web('POST', `/withdrawals/${id}/cancel`),
        await system('GET', `/withdrawals/${id}`),
        await system('POST', `/withdrawals/${id}/approve`),
        await system('POST', `/withdrawals/${id}/reject`, { reason: 'x' }),
        await system('POST', `/withdrawals/${id}/complete`, {}),
        await system('POST', `/withdrawals/${id}/fail`, { reason: 'x' }),
      ]
      for (const answer of answers) expect(codeOf(answer)).toEqual(notFound)
    }
  })

  test('withdrawals: of parallel decisions exactly one happens, and the hold ends once', async () => {
    const reason = { reason: 'race' }
    const winner = async (asking: Promise<Answer>[]) => {
      const answers = await Promise.all(asking)
      const won = answers.filter(({ status }) => status === 200)
      expect(won, answers.map(({ text }) => text).join('\n')).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 200) expect(codeOf(answer)).toEqual(conflict)
      return won[0]?.body.data.withdrawalStatus.code
    }
    const amount = '10.00'
    // Each round begins with another one of the rivals.
    const rivals = (round: number, asking: (() => Promise<Answer>)[]) =>
      winner([...asking.slice(round % asking.length), ...asking.slice(0, round % asking.length)].map((ask) => ask()))
    const [pending, spent]: [string[], number[]] = [[], []]
    const change = await moved(async () => {
      for (let round = 0; round < 20; round++) {
        const { bizId } = await made({ amount })
        const on = (verb: string, body?: object) => system('POST', `/withdrawals/${bizId}/${verb}`, body)
        const cancel = () => web('POST', `/withdrawals/${bizId}/cancel`)
        const first = await rivals(round, [() => on('approve'), cancel, () => on('reject', reason)])
        pending.push(first)
        if (first !== 'PROCESSING') continue
        expect(codeOf(await cancel())).toEqual(conflict)
        await data(on('fail', reason))
      }
      for (let round = 0; round < 20; round++) {
        const { bizId } = await underWay({ amount })
        const on = (verb: string, body: object) => system('POST', `/withdrawals/${bizId}/${verb}`, body)
        const [complete, fail] = [() => on('complete', {}), () => on('fail', reason)]
        if ((await rivals(round, [complete, fail, complete, fail])) === 'COMPLETED') spent.push(10)
      }
    })
    expect(pending).toHaveLength(20)
    expect(change).toEqual([0 - spent.length * 10, 0])
  }, 120_000)

  test('operators.ledgerInvariants 200: the book adds up after all of it', async () => {
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})

describe.skipIf(inject('topology') !== 'embedded')('withdrawals in the store', () => {
  const scene = async () => {
    const { database, close } = await testDatabase()
    const book = await createBook(database)
    const { ledger, clock } = book
    const key = Buffer.alloc(32, 7)
    const secretBox = createSecretBox(key, systemRandomness)
    const digest = createKeyedDigest(key)
    const channels = createWithdrawalChannels({
      ...{ database, ledger, clock, ids: systemIds, secretBox, digest, words },
      members: { holdFor: async () => undefined },
      maxPerWorkspace: mostChannels,
      isCountry: () => true,
    })
    const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', fixedFee: '0', feeRate: '0.00333' }
    const { handlers } = createWithdrawals({
      ledger,
      words,
      payouts: [{ ...terms, channelType: 'BANK' }],
      // As a reader sees a channel that is taken back the moment after.
      channelOf: async (workspace, channel) => {
        const found = await channels.channelOf(workspace, channel)
        return found && { ...found, channelStatus: 'ACTIVE' }
      },
    })
    const wallet = await book.wallet('USD', '100.00')
    return { ...book, secretBox, wallet, close, ask: asker([channels.handlers, handlers], clock) }
  }
  let world: Awaited<ReturnType<typeof scene>>
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    world = await scene()
  })
  afterAll(() => world?.close())
  const open = (changed: object = {}) =>
    world.ask(channelContract.createWithdrawalChannel, {
      as: maker,
      workspace: world.wallet.workspace,
      body: account(changed),
    })
  const verify = (id: string, as = checker) =>
    world.ask(channelContract.verifyWithdrawalChannel, { as, params: { withdrawal_channel_id: id } })
  const withdraw = (channel: string) =>
    world.ask(contract.createWithdrawal, {
      as: maker,
      workspace: world.wallet.workspace,
      body: { walletBizId: world.wallet.id, withdrawalChannelBizId: channel, amount: '10.00' },
    })

  test('withdrawalChannels.create: the account is sealed at rest, and opens with the key and its own row only', async () => {
    const accountNumber = 'GB82WEST12345698765432'
    const { bizId } = await open({ accountNumber })
    const rows = await world.database.selectFrom('withdrawal_channels').selectAll().execute()
    const [row] = rows.filter((each) => each.biz_id === bizId)
    if (!row) throw new Error('no row')
    const raw = Buffer.concat(
      Object.values(row).map((cell) => Buffer.from(cell instanceof Uint8Array ? cell : String(cell))),
    )
    expect(raw.includes('Ada Lovelace')).toBe(true)
    for (const part of [accountNumber, accountNumber.slice(0, 8), Buffer.from(accountNumber).toString('base64')])
      expect(raw.includes(part)).toBe(false)
    const unsealed = world.secretBox.open('withdrawal-account', bizId, row.account_sealed)
    expect(Buffer.from(unsealed ?? []).toString()).toBe(accountNumber)
    const audit = await world.database.selectFrom('audit_log').selectAll().execute()
    expect(JSON.stringify(audit)).not.toContain(accountNumber)
  })

  test('withdrawalChannels.create: what is kept of the request does not give the account to who guesses it', async () => {
    const [requestId, body] = [systemIds.next(), account()]
    await world.ask(channelContract.createWithdrawalChannel, {
      as: maker,
      workspace: world.wallet.workspace,
      body,
      requestId,
    })
    const kept = await world.database
      .selectFrom('idempotency')
      .selectAll()
      .where('request_id', '=', requestId)
      .execute()
    expect(kept).toHaveLength(1)
    const guess = createHash('sha256')
      .update(JSON.stringify([{}, body]))
      .digest('hex')
    expect(JSON.stringify(kept)).not.toContain(guess)
    expect(JSON.stringify(kept)).not.toContain(body.accountNumber)
  })

  test('maker-checker 403 ACCESS.PERMISSION_DENIED: nobody decides over their own', async () => {
    const { bizId } = await open()
    expect(await refusalOf(verify(bizId, maker))).toBe('ACCESS.PERMISSION_DENIED')
    const rejected = { as: maker, params: { withdrawal_channel_id: bizId }, body: { reason: 'x' } }
    expect(await refusalOf(world.ask(channelContract.rejectWithdrawalChannel, rejected))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
    await verify(bizId)
    const order = await withdraw(bizId)
    expect(order).toMatchObject({ feeAmount: '0.04', netAmount: '9.96' })
    const on = { params: { withdrawal_id: order.bizId }, body: { reason: 'x' } }
    const own = { ...on, as: maker }
    expect(await refusalOf(world.ask(contract.approveWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(world.ask(contract.rejectWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    await world.ask(contract.approveWithdrawal, { ...on, as: checker })
    expect(await refusalOf(world.ask(contract.completeWithdrawal, { ...own, body: {} }))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
    expect(await refusalOf(world.ask(contract.failWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    await world.ask(contract.failWithdrawal, { ...on, as: checker })
    expect(await world.available(world.wallet)).toBe('100.00')
  })

  test('withdrawals.create 422 CHANNEL.NOT_AVAILABLE: the database itself refuses a channel that is not active', async () => {
    const { bizId } = await open()
    expect(await refusalOf(withdraw(bizId))).toBe('CHANNEL.NOT_AVAILABLE')
    expect(await world.available(world.wallet)).toBe('100.00')
    expect(await world.ledger.verifyBook()).toBeNull()
  })

  test('withdrawals.approve 422 CHANNEL.NOT_AVAILABLE: so it does where the channel is taken back during the approval', async () => {
    const { bizId } = await open()
    await verify(bizId)
    const order = await withdraw(bizId)
    const taken = { as: checker, params: { withdrawal_channel_id: bizId }, body: { reason: 'x' } }
    await world.ask(channelContract.rejectWithdrawalChannel, taken)
    const on = { as: checker, params: { withdrawal_id: order.bizId }, body: { reason: 'x' } }
    expect(await refusalOf(world.ask(contract.approveWithdrawal, on))).toBe('CHANNEL.NOT_AVAILABLE')
    await world.ask(contract.rejectWithdrawal, on)
    expect(await world.available(world.wallet)).toBe('100.00')
  })
})
