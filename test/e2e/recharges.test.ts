import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import * as contract from '../../src/contract/recharges.ts'
import { createRecharges } from '../../src/domains/recharges/index.ts'
import { openBlobs } from '../../src/platform/blobs/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { refusalOf, words } from '../domains/world.ts'
import { formOf, pdf } from '../harness/form.ts'
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
const cancelReason = { cancelReason: 'changed my mind' }
const reason = { reason: 'no such payment' }

const { workspace, mainUsd, mainEur } = developmentIds

/** A Portico with its owner and its operator signed in, and what the tests ask of it again and again. */
const scene = async (adjust: NonNullable<Parameters<typeof startPortico>[0]>['adjust']) => {
  const portico: Portico = await startPortico(adjust ? { adjust } : {})
  const owner: Session = await signIn(portico)
  const operator: Session = await signIn(portico, 'operator@demo.test')
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
  const upload = async (where: string = workspace): Promise<string> => {
    const { headers, body } = formOf([
      { name: 'file', content: pdf(), fileName: 'receipt.pdf', type: 'application/pdf' },
      { name: 'purpose', content: 'RECHARGE_PROOF' },
    ])
    const call = { token: owner.accessToken, workspace: where, headers, body }
    return (await data(portico.call('POST', '/web/v1/consumer/files/upload', call))).bizId
  }
  const asked = (changed: object = {}) => ({
    walletBizId: mainUsd,
    channelCode: 'BANK_USD',
    amount: '100.00',
    ...changed,
  })
  const made = (changed: object = {}) => data(web('POST', '/recharges', asked(changed)))
  const proved = async (changed: object = {}) => {
    const { bizId } = await made(changed)
    return data(web('POST', `/recharges/${bizId}/proof`, { fileBizId: await upload() }))
  }
  const balance = async (wallet: string = mainUsd) =>
    Number((await data(web('GET', `/wallets/${wallet}/balance`))).availableBalance)
  const moved = async (work: () => Promise<unknown>, wallet: string = mainUsd) => {
    const before = await balance(wallet)
    await work()
    return Math.round(((await balance(wallet)) - before) * 100) / 100
  }
  return { portico, owner, operator, web, system, data, upload, asked, made, proved, balance, moved }
}

type Scene = Awaited<ReturnType<typeof scene>>
const stepsOf = (order: { statusHistory: { status: { code: string } }[] }) =>
  order.statusHistory.map(({ status }) => status.code)

describe.skipIf(!storeIsAvailable())('recharges', () => {
  let world: Scene
  beforeAll(async () => {
    world = await scene(({ money: { recharge } }) => {
      const [first] = recharge.channels
      if (!first) throw new Error('no channel')
      for (const channel of recharge.channels)
        if (channel.channelCode === 'BANK_EUR') Object.assign(channel, { maxAmount: '50.00', dailyMax: '60.00' })
      for (const channel of recharge.channels) if (channel.currency === 'USD') channel.dailyMax = '900000.00'
      recharge.channels.push({ ...first, channelCode: 'CLOSED_USD', enabled: false })
    })
  })
  afterAll(() => world?.portico.stop())

  test('recharges.availableChannels 200: the enabled ones, of a currency', async () => {
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

  test('recharges.quote 200: the fee by tariff, rounded up; nothing is kept', async () => {
    const { data, web, asked } = world
    const card = asked({ channelCode: 'CARD_USD', amount: '33.33' })
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

  test('recharges.create 200: waits for its payment; the same request is the same answer, other bytes 422', async () => {
    const { data, web, system, asked, moved } = world
    const id = randomUUID()
    const change = await moved(async () => {
      const create = () => web('POST', '/recharges', asked(), { id })
      const answers = await Promise.all([create(), create(), create()])
      const first = await data(create())
      for (const { status, body } of answers)
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
      const other = await web('POST', '/recharges', asked({ amount: '99.00' }), { id })
      expect(codeOf(other)).toEqual([422, 'REQUEST.ID_REUSED'])
      expect(await data(web('GET', `/recharges/${first.bizId}`))).toEqual(first)
      const workspaceKind = expect.objectContaining({ code: 'LIVE' })
      expect(await data(system('GET', `/recharges/${first.bizId}`))).toEqual({ ...first, workspaceKind })
      const listed = async (query: string, ask: typeof web | typeof system = web) =>
        (await data(ask('GET', `/recharges?${query}`))).items.map(({ bizId }: { bizId: string }) => bizId)
      expect(await listed(`walletId=${mainUsd}&rechargeStatus=PENDING_PAYMENT`)).toEqual([first.bizId])
      expect(await listed('rechargeStatus=EXPIRED')).toEqual([])
      expect(await listed(`walletId=${mainEur}`)).toEqual([])
      expect(await listed(`workspaceId=${workspace}`, system)).toEqual([first.bizId])
      expect(await listed(`workspaceId=${unknownId}`, system)).toEqual([])
      await data(web('POST', `/recharges/${first.bizId}/cancel`, cancelReason))
      // The replay answers as the first time, though the order has moved on since.
      expect(await data(create())).toEqual(first)
    })
    expect(change).toBe(0)
  })

  test.each(['/recharges/quote', '/recharges'])('POST %s refuses: limits, amounts, channels, wallets', async (path) => {
    const { web, asked } = world
    const refused = async (changed: object) => codeOf(await web('POST', path, asked(changed)))
    expect(await refused({ amount: '9.99' })).toEqual(limit)
    expect(await refused({ amount: '100000.01' })).toEqual(limit)
    for (const amount of ['20.001', '0.00', '-1.00', '1e3', 'NaN']) expect(await refused({ amount })).toEqual(invalid)
    expect(await refused({ walletBizId: unknownId })).toEqual(notFound)
    for (const channelCode of ['CLOSED_USD', 'NONE', '__proto__'])
      expect(await refused({ channelCode })).toEqual(unavailable)
    // Another currency than the wallet's is invalid wherever money moves.
    expect(await refused({ channelCode: 'BANK_EUR' })).toEqual(invalid)
  })

  test('recharges.create 422 WALLET.LIMIT_EXCEEDED: the daily limit, in parallel too; what is cancelled counts no more', async () => {
    const { data, web, asked, made } = world
    const day = { walletBizId: mainEur, channelCode: 'BANK_EUR' }
    const { bizId } = await made({ ...day, amount: '50.00' })
    expect(codeOf(await web('POST', '/recharges', asked({ ...day, amount: '10.01' })))).toEqual(limit)
    expect(codeOf(await web('POST', '/recharges/quote', asked({ ...day, amount: '10.01' })))).toEqual(limit)
    await data(web('POST', '/recharges/quote', asked({ ...day, amount: '10.00' })))
    await data(web('POST', `/recharges/${bizId}/cancel`, cancelReason))
    const many = Array.from({ length: 12 }, () => web('POST', '/recharges', asked({ ...day, amount: '10.00' })))
    const answers = await Promise.all(many)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(6)
    for (const answer of answers.filter(({ status }) => status !== 200)) expect(codeOf(answer)).toEqual(limit)
  })

  test('recharges.proof, confirm 200: credited once, the fee to the house; replays; 409 without its proof', async () => {
    const { data, web, system, upload, made, moved } = world
    const { bizId } = await made()
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
    const change = await moved(async () => {
      const confirmed = await data(confirm())
      expect(confirmed).toMatchObject({ rechargeStatus: { code: 'COMPLETED' }, completedAt: expect.any(String) })
      expect(await data(confirm())).toEqual(confirmed)
      expect(stepsOf(confirmed)).toEqual(['PENDING_PAYMENT', 'PROOF_SUBMITTED', 'COMPLETED'])
    })
    expect(change).toBe(100)
    const postings = await data(system('GET', `/ledger/orders/${bizId}/postings`))
    expect(JSON.stringify(postings)).toContain('100.00')
    for (const verb of ['confirm', 'reject'])
      expect(
        codeOf(await system('POST', `/recharges/${bizId}/${verb}`, verb === 'reject' ? reason : undefined)),
      ).toEqual(conflict)
  })

  test('recharges.confirm 200: without a proof where the channel needs none, less the fee; with one as well', async () => {
    const { data, system, made, proved, moved } = world
    const card = { channelCode: 'CARD_USD' }
    const change = await moved(async () => {
      const plain = await made(card)
      const confirmed = await data(system('POST', `/recharges/${plain.bizId}/confirm`))
      expect(confirmed).toMatchObject({ feeAmount: '3.20', netAmount: '96.80' })
      expect(stepsOf(confirmed)).toEqual(['PENDING_PAYMENT', 'COMPLETED'])
      const shown = await proved(card)
      await data(system('POST', `/recharges/${shown.bizId}/confirm`))
    })
    expect(change).toBe(193.6)
  })

  test('recharges.cancel, reject 200: each is the last word and moves no money', async () => {
    const { data, web, system, upload, made, proved, moved } = world
    const fileBizId = await upload()
    const cases = [
      { make: made, end: (id: string) => web('POST', `/recharges/${id}/cancel`, cancelReason), to: 'CANCELLED' },
      { make: proved, end: (id: string) => system('POST', `/recharges/${id}/reject`, reason), to: 'REJECTED' },
    ]
    for (const { make, end, to } of cases) {
      const change = await moved(async () => {
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
        for (const answer of after) expect(codeOf(answer)).toEqual(conflict)
      })
      expect(change).toBe(0)
    }
  })

  const proofOf = (id: string) => `/recharges/${id}/proof/download`

  test('recharges.downloadProof 200, 206, 416: the file as an attachment, for the operator; one line each in the audit log', async () => {
    const { portico, data, system, proved, operator } = world
    const { bizId, workspaceBizId, proofFileBizId } = await proved()
    const { sha256, sizeBytes } = await data(world.web('GET', `/files/${proofFileBizId}`))
    const whole = await system('GET', proofOf(bizId))
    expect([whole.status, whole.text.slice(0, 8)]).toEqual([200, '%PDF-1.7'])
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': `${sizeBytes}`,
      'content-disposition': expect.stringMatching(/^attachment; filename="receipt.pdf"/),
      'x-content-type-options': 'nosniff',
      etag: `"${sha256}"`,
    })
    const ranged = (range: string) =>
      portico.call('GET', `/web/v1/system${proofOf(bizId)}`, { token: operator.accessToken, headers: { range } })
    const part = await ranged('bytes=0-3')
    expect([part.status, part.text]).toEqual([206, '%PDF'])
    expect((await ranged('bytes=99999-')).status).toBe(416)
    const told = { workspaceBizId, targetBizId: bizId, outcome: { code: 'SUCCESS' } }
    const { items } = await data(system('GET', `/audit-log?action=recharges.downloadProof&targetId=${bizId}`))
    expect(items).toMatchObject([told, told, told])
  })

  test('recharges.downloadProof 404: none yet, unknown, malformed, gone with its sandbox; 401 without a token, and with a customer’s', async () => {
    const { portico, data, web, system, upload, made, owner } = world
    const unproved = (await made()).bizId
    for (const id of [unproved, unknownId, 'x']) expect(codeOf(await system('GET', proofOf(id)))).toEqual(notFound)
    const { bizId: play } = await data(web('POST', '/workspaces', { workspaceName: 'Play', workspaceKind: 'SANDBOX' }))
    const there = { workspace: play }
    const [{ bizId: walletBizId }] = await data(web('GET', '/wallets', undefined, there))
    const body = { walletBizId, channelCode: 'BANK_USD', amount: '10.00' }
    const { bizId } = await data(web('POST', '/recharges', body, there))
    await data(web('POST', `/recharges/${bizId}/proof`, { fileBizId: await upload(play) }, there))
    const path = `/web/v1/system${proofOf(bizId)}`
    expect((await system('GET', proofOf(bizId))).status).toBe(200)
    expect(codeOf(await portico.call('GET', path))).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    const customer = await portico.call('GET', path, { token: owner.accessToken })
    expect(codeOf(customer)).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    await data(web('POST', '/sandbox/reset', undefined, there))
    expect(codeOf(await system('GET', proofOf(bizId)))).toEqual(notFound)
  })

  test.skipIf(inject('topology') === 'embedded')(
    'recharges.downloadProof 403: who may read recharges and not decide over them',
    async () => {
      const { portico, proved } = world
      const client = new Client({ connectionString: portico.settings.databaseUrl?.reveal() })
      await client.connect()
      await client.query(
        `UPDATE accounts SET operator_permissions = '{recharge:read}' WHERE email_canonical = 'checker@demo.test'`,
      )
      await client.end()
      const { accessToken: token } = await signIn(portico, 'checker@demo.test')
      const { bizId } = await proved()
      const ask = (path: string) => portico.call('GET', `/web/v1/system${path}`, { token })
      expect((await ask(`/recharges/${bizId}`)).status).toBe(200)
      expect(codeOf(await ask(proofOf(bizId)))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    },
  )

  test('recharges of another workspace, its wallets and files are as unknown', async () => {
    const { data, web, upload, asked, made } = world
    const kind = { workspaceName: 'Next door', workspaceKind: 'SANDBOX' }
    const other = (await data(web('POST', '/workspaces', kind))).bizId
    const there = { workspace: other }
    expect(codeOf(await web('POST', '/recharges', asked(), there))).toEqual(notFound)
    const { bizId } = await made()
    const [theirs, ours] = [await upload(other), await upload()]
    for (const fileBizId of [theirs, unknownId])
      expect(codeOf(await web('POST', `/recharges/${bizId}/proof`, { fileBizId }))).toEqual(notFound)
    const answers = [
      await web('GET', `/recharges/${bizId}`, undefined, there),
      await web('POST', `/recharges/${bizId}/cancel`, cancelReason, there),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId: theirs }, there),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId: ours }, there),
    ]
    for (const answer of answers) expect(codeOf(answer)).toEqual(notFound)
    expect((await data(web('GET', '/recharges', undefined, there))).items).toEqual([])
    await data(web('POST', `/recharges/${bizId}/cancel`, cancelReason))
  })

  test('recharges.read, cancel and their like 404: unknown and malformed ids', async () => {
    const { web, system } = world
    for (const id of [unknownId, 'x']) {
      const answers = [
        await web('GET', `/recharges/${id}`),
        await web('POST', `/recharges/${id}/cancel`, cancelReason),
        await web('POST', `/recharges/${id}/proof`, { fileBizId: unknownId }),
        await system('GET', `/recharges/${id}`),
        await system('POST', `/recharges/${id}/confirm`),
        await system('POST', `/recharges/${id}/reject`, reason),
      ]
      for (const answer of answers) expect(codeOf(answer)).toEqual(notFound)
    }
  })

  test('recharges on a frozen wallet: WALLET.NOT_ACTIVE to quote, to begin and to confirm', async () => {
    const { data, web, system, asked, proved } = world
    const { bizId } = await proved()
    await data(system('POST', `/wallets/${mainUsd}/freeze`, { reason: 'review' }))
    const refused = [
      await web('POST', '/recharges/quote', asked()),
      await web('POST', '/recharges', asked()),
      await system('POST', `/recharges/${bizId}/confirm`),
    ]
    for (const { body } of refused) expect(body.code).toBe('WALLET.NOT_ACTIVE')
    await data(system('POST', `/wallets/${mainUsd}/unfreeze`, { reason: 'reviewed' }))
    await data(system('POST', `/recharges/${bizId}/confirm`))
  })

  test('recharges: of parallel decisions exactly one happens, and the money comes once', async () => {
    const { web, system, upload, made, proved, moved } = world
    const fileBizId = await upload()
    let gained = 0
    const winner = async (asking: Promise<Answer>[]) => {
      const answers = await Promise.all(asking)
      const won = answers.filter(({ status }) => status === 200)
      expect(won, answers.map(({ text }) => text).join('\n')).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 200) expect(codeOf(answer)).toEqual(conflict)
      if (won[0]?.body.data.rechargeStatus.code === 'COMPLETED') gained += Number(won[0].body.data.netAmount)
    }
    const change = await moved(async () => {
      for (let round = 0; round < 20; round++) {
        const { bizId: unpaid } = await made()
        const ask = (id: string, verb: string, body?: object) => web('POST', `/recharges/${id}/${verb}`, body)
        const decide = (id: string, verb: string, body?: object) => system('POST', `/recharges/${id}/${verb}`, body)
        await winner([
          ask(unpaid, 'cancel', cancelReason),
          ask(unpaid, 'proof', { fileBizId }),
          ask(unpaid, 'cancel', cancelReason),
          ask(unpaid, 'proof', { fileBizId }),
        ])
        const { bizId: plain } = await made({ channelCode: 'CARD_USD' })
        await winner([decide(plain, 'confirm'), ask(plain, 'cancel', cancelReason), decide(plain, 'confirm')])
        const { bizId: shown } = await proved()
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

  test('operators.ledgerInvariants 200: the book adds up after all of it', async () => {
    expect(await world.data(world.system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })
})

describe.skipIf(!storeIsAvailable())('recharges that are not paid in time', () => {
  let world: Scene
  beforeAll(async () => {
    world = await scene(({ money }) => {
      money.recharge.lifeMs = 1_000
      money.background.expiryMs = 1_000
      for (const channel of money.recharge.channels) channel.dailyMax = '100.00'
      for (const channel of money.recharge.channels) channel.maxAmount = '100.00'
    })
  })
  afterAll(() => world?.portico.stop())

  test('recharges.read 200: EXPIRED, by a job in the end; cancel, proof and confirm 409, and its daily share is back', async () => {
    const { data, web, system, upload, asked, made } = world
    const fileBizId = await upload()
    const { bizId } = await made({ channelCode: 'CARD_USD' })
    expect(codeOf(await web('POST', '/recharges', asked({ channelCode: 'CARD_USD' })))).toEqual(limit)
    const read = () => data(web('GET', `/recharges/${bizId}`))
    await expect.poll(async () => (await read()).version, { timeout: 20_000, interval: 200 }).toBe(2)
    const order = await read()
    expect(stepsOf(order)).toEqual(['PENDING_PAYMENT', 'EXPIRED'])
    expect(order).toMatchObject({ rechargeStatus: { code: 'EXPIRED' }, completedAt: null })
    expect(order.statusHistory[1].actorBizId).toBeNull()
    const late = [
      await web('POST', `/recharges/${bizId}/cancel`, cancelReason),
      await web('POST', `/recharges/${bizId}/proof`, { fileBizId }),
      await system('POST', `/recharges/${bizId}/confirm`),
      await system('POST', `/recharges/${bizId}/reject`, reason),
    ]
    for (const answer of late) expect(codeOf(answer)).toEqual(conflict)
    const audit = `/audit-log?action=recharges.expire&workspaceId=${workspace}`
    const entries = async () => (await data(system('GET', audit))).items
    await expect.poll(async () => (await entries()).length, { timeout: 10_000 }).toBe(1)
    expect((await entries())[0]).toMatchObject({ targetBizId: bizId, actorBizId: null, outcome: { code: 'SUCCESS' } })
    await made({ channelCode: 'CARD_USD' })
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  }, 60_000)
})

describe.skipIf(inject('topology') !== 'embedded')('recharges in the store', () => {
  const lifeMs = 60_000
  const bench = async () => {
    const { database, close } = await testDatabase()
    const book = await createBook(database)
    const { ledger, clock } = book
    const channel = {
      channelCode: 'TOKEN',
      channelName: 'Token',
      channelType: 'CRYPTO' as const,
      proofRequired: false,
      enabled: true,
      currency: 'USD',
      minAmount: '1',
      maxAmount: '100',
      fixedFee: '0',
      feeRate: '0',
    }
    const { handlers, jobs } = createRecharges({
      ledger,
      clock,
      words,
      settings: { lifeMs, channels: [channel] },
      expiryMs: 1_000,
      database,
      blobs: await openBlobs({ kind: 'disk' }, tmpdir()),
      fileOf: async () => ({ key: 'x', fileName: 'x', contentType: 'application/pdf', sizeBytes: 1, sha256: '' }),
    })
    const wallet = await book.wallet('USD')
    return { ...book, wallet, jobs, close, ask: asker([handlers], clock) }
  }
  let world: Awaited<ReturnType<typeof bench>>
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    world = await bench()
  })
  afterAll(() => world?.close())
  const as = () => ({ as: maker, workspace: world.wallet.workspace })
  const create = (requestId: string = systemIds.next()) =>
    world.ask(contract.createRecharge, {
      ...as(),
      requestId,
      body: { walletBizId: world.wallet.id, channelCode: 'TOKEN', amount: '10.00' },
    })
  const on = (id: string) => ({ params: { recharge_id: id } })
  const sweep = () => world.jobs[0]?.work(null, { jobId: 'x', attempt: 1, signal: new AbortController().signal })

  test('maker-checker 403 ACCESS.PERMISSION_DENIED: nobody decides over their own', async () => {
    const { bizId } = await create()
    expect(await refusalOf(world.ask(contract.confirmRecharge, { as: maker, ...on(bizId) }))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
    const body = { fileBizId: systemIds.next() }
    await world.ask(contract.submitRechargeProof, { ...as(), ...on(bizId), body })
    for (const refused of [
      world.ask(contract.confirmRecharge, { as: maker, ...on(bizId) }),
      world.ask(contract.rejectRecharge, { as: maker, ...on(bizId), body: reason }),
    ])
      expect(await refusalOf(refused)).toBe('ACCESS.PERMISSION_DENIED')
    await world.ask(contract.confirmRecharge, { as: checker, ...on(bizId) })
    expect(await world.available(world.wallet)).toBe('10.00')
  })

  test('EXPIRED at its very instant, before any job: shown, filtered and refused so; a proof stops the time', async () => {
    const { ask, clock } = world
    const requestId = systemIds.next()
    const first = await create(requestId)
    const shown = await create()
    await ask(contract.submitRechargeProof, { ...as(), ...on(shown.bizId), body: { fileBizId: systemIds.next() } })
    const read = (id = first.bizId) => ask(contract.readRecharge, { ...as(), ...on(id) })
    const listed = async (rechargeStatus: string) =>
      (await ask(contract.listRecharges, { ...as(), query: { rechargeStatus } })).items.map(({ bizId }) => bizId)
    clock.advance(lifeMs - 1)
    expect((await read()).rechargeStatus.code).toBe('PENDING_PAYMENT')
    expect(await listed('EXPIRED')).toEqual([])
    clock.advance(1)
    const unswept = await read()
    expect(unswept).toMatchObject({ version: 1, rechargeStatus: { code: 'EXPIRED' } })
    expect(unswept.statusHistory.at(-1)).toMatchObject({ status: { code: 'EXPIRED' }, at: first.expiresAt })
    expect(unswept.updatedAt).toBe(first.expiresAt)
    const lastChanged = async () =>
      (await ask(contract.listRecharges, { ...as(), query: { sortBy: 'updatedAt', pageSize: '1' } })).items[0]
    expect(await lastChanged()).toMatchObject({ bizId: first.bizId, updatedAt: first.expiresAt })
    expect(await listed('EXPIRED')).toEqual([first.bizId])
    expect(await listed('PENDING_PAYMENT')).toEqual([])
    const body = { fileBizId: systemIds.next() }
    for (const refused of [
      ask(contract.cancelRecharge, { ...as(), ...on(first.bizId), body: cancelReason }),
      ask(contract.submitRechargeProof, { ...as(), ...on(first.bizId), body }),
      ask(contract.confirmRecharge, { as: checker, ...on(first.bizId) }),
    ])
      expect(await refusalOf(refused)).toBe('STATE.CONFLICT')
    expect(await create(requestId)).toEqual(first)
    clock.advance(10_000)
    const later = await create()
    clock.advance(20_000)
    await sweep()
    await sweep()
    const swept = await read()
    expect(swept).toMatchObject({ version: 2, rechargeStatus: { code: 'EXPIRED' } })
    // It ended when its time was over, not when the job came by.
    expect(swept.statusHistory).toEqual(unswept.statusHistory)
    expect(swept.updatedAt).toBe(unswept.updatedAt)
    expect(await lastChanged()).toMatchObject({ bizId: later.bizId })
    expect(await listed('EXPIRED')).toEqual([first.bizId])
    expect((await read(shown.bizId)).rechargeStatus.code).toBe('PROOF_SUBMITTED')
    expect(await world.ledger.verifyBook()).toBeNull()
  })
})
