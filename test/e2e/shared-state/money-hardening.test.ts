import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import type { Answer } from '../../harness/http.ts'
import { requiredHeaders } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

const { workspace, mainUsd, mainEur, savingsUsd } = developmentIds
function codeOf({ status, body }: Answer) {
  return [status, body?.code]
}
const invalid = [400, 'VALIDATION.INVALID_PARAMETER']

describe('invalid money input', needsStore(), () => {
  let portico: Portico
  let owner: Session
  let channel: string
  beforeAll(async () => {
    portico = await startPortico({ adjust: ({ money }) => Object.assign(money, { transferFee: { USD: '0.01' } }) })
    owner = await signIn(portico)
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const account = {
      channelType: 'BANK',
      currency: 'USD',
      country: 'DE',
      accountHolderName: 'Ada',
      bankCode: 'COBADEFF',
    }
    channel = (await web('POST', '/withdrawal-channels', { ...account, accountNumber: 'DE89370400440532013000' })).body
      .data.bizId
    await portico.call('POST', `/web/v1/system/withdrawal-channels/${channel}/verify`, { token })
  })
  afterAll(() => portico?.stop())

  const web = (method: string, path: string, body?: unknown, id: string = randomUUID()) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      token: owner.accessToken,
      workspace,
      headers: { 'x-request-id': id },
      ...(body !== undefined && { body }),
    })
  const between = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, currency: 'USD' }
  const transfer = (changed: object, id?: string) =>
    web('POST', '/transfer/command/create', { ...between, amount: '1.00', ...changed }, id)
  const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR' }
  const withAmount: Record<string, (amount: unknown) => Promise<Answer>> = {
    'transfers.create': (amount) => transfer({ amount }),
    'exchanges.quote (source)': (amount) => web('POST', '/exchanges/quote', { ...pair, amount, fixedSide: 'SOURCE' }),
    'exchanges.quote (target)': (amount) => web('POST', '/exchanges/quote', { ...pair, amount, fixedSide: 'TARGET' }),
    'recharges.quote': (amount) =>
      web('POST', '/recharges/quote', { walletBizId: mainUsd, channelCode: 'BANK_USD', amount }),
    'recharges.create': (amount) =>
      web('POST', '/recharges', { walletBizId: mainUsd, channelCode: 'BANK_USD', amount }),
    'withdrawals.create': (amount) =>
      web('POST', '/withdrawals', { walletBizId: mainUsd, withdrawalChannelBizId: channel, amount }),
  }
  const held = async () => {
    const { body } = await web('GET', `/wallets/${mainUsd}/balance`)
    return body.data
  }
  const bad = [
    '-1',
    '0',
    '0.00',
    '-0',
    '+1',
    'NaN',
    'Infinity',
    '1e400',
    '1e3',
    '0x10',
    '１',
    '1,00',
    '1_000',
    ' 1',
    '1 ',
    '01',
    '.5',
    '1.',
    '0.004',
    '100.001',
    '9'.repeat(30),
    '1'.repeat(500),
    '',
    -1,
    0,
    100,
    2 ** 53 + 1,
    null,
    true,
    ['1.00'],
    { amount: '1.00' },
  ]

  test.each(Object.entries(withAmount))(
    '%s 400 for every invalid amount, and no money moves',
    async (_name, request) => {
      const before = await held()
      for (const amount of bad) expect([amount, ...codeOf(await request(amount))]).toEqual([amount, ...invalid])
      expect({ ...(await held()), asOf: '' }).toEqual({ ...before, asOf: '' })
    },
  )

  test('transfers.create 400 for a JSON number as amount, in any spelling', async () => {
    for (const number of ['1', '1.00', '9007199254740993', '1e400', '-0', '1E2']) {
      const body = JSON.stringify({ ...between, amount: 'N' }).replace('"N"', number)
      expect(codeOf(await web('POST', '/transfer/command/create', body))).toEqual(invalid)
    }
  })

  test("transfers.create 400: another currency than the wallet's, in any spelling; 422 beyond the balance", async () => {
    expect(codeOf(await transfer({ currency: 'EUR' }))).toEqual(invalid)
    expect(codeOf(await transfer({ targetWalletBizId: mainEur }))).toEqual(invalid)
    expect(codeOf(await transfer({ currency: 'usd' }))).toEqual(invalid)
    expect(codeOf(await transfer({ targetWalletBizId: mainUsd }))).toEqual(invalid)
    expect(codeOf(await transfer({ targetWalletBizId: mainUsd.toUpperCase() }))).toEqual(invalid)
    expect(codeOf(await transfer({ amount: '9'.repeat(28) }))).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
  })

  test('transfers.create 422 WALLET.INSUFFICIENT_FUNDS: held funds and the fee are not available', async () => {
    const { availableBalance } = await held()
    expect((await withAmount['withdrawals.create']?.('5000.00'))?.status).toBe(200)
    expect(codeOf(await transfer({ amount: availableBalance }))).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
    const left = (await held()).availableBalance
    expect(codeOf(await transfer({ amount: left }))).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
    expect((await held()).availableBalance).toBe(left)
  })

  test('exchanges.quote 400 for a result above the maximum amount of the ledger', async () => {
    const huge = { ...pair, amount: '9'.repeat(28), fixedSide: 'TARGET' }
    expect(codeOf(await web('POST', '/exchanges/quote', huge))).toEqual(invalid)
  })

  test('transfers.create: 200 concurrent transfers in both directions all complete, and the sum stays', async () => {
    const sum = async () => {
      const each = await Promise.all([mainUsd, savingsUsd].map((wallet) => web('GET', `/wallets/${wallet}/balance`)))
      return each.map(({ body }) => BigInt(body.data.totalBalance.replace('.', ''))).reduce((a, b) => a + b)
    }
    await transfer({ amount: '100.00' })
    const before = await sum()
    const back = { sourceWalletBizId: savingsUsd, targetWalletBizId: mainUsd }
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, i) => transfer({ amount: '0.10', ...(i % 2 === 0 && back) })),
    )
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(before - (await sum())).toBe(200n)
  })

  test('transfers.create: a client that disconnects and retries gets the result of the first attempt', async () => {
    const body = JSON.stringify({ ...between, amount: '0.25' })
    const headers = { ...requiredHeaders(), authorization: `Bearer ${owner.accessToken}`, 'x-workspace-id': workspace }
    const orders = async () =>
      (await web('GET', '/transfer/query/orders?pageSize=1&transferStatus=COMPLETED')).body.data.pagination.totalRecords
    const before = await orders()
    for (let pauseMs = 0; pauseMs < 20; pauseMs++) {
      const id = randomUUID()
      const path = `${portico.url}/web/v1/consumer/transfer/command/create`
      const signal = AbortSignal.timeout(pauseMs)
      await fetch(path, { method: 'POST', headers: { ...headers, 'x-request-id': id }, body, signal }).catch(() => null)
      const again = () => transfer({ amount: '0.25' }, id)
      await expect.poll(async () => (await again()).status).toBe(200)
      const [first, second] = [await again(), await again()]
      expect(second.body.data).toEqual(first.body.data)
      expect(codeOf(await transfer({ amount: '0.26' }, id))).toEqual([422, 'REQUEST.ID_REUSED'])
    }
    expect((await orders()) - before).toBe(20)
  })
})
