import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsStore } from '../../harness/needs.ts'
import { startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

/** Currencies of 0, 2, 3, 8 and 18 decimal places. */
const least = { JPY: '1', USD: '0.01', BHD: '0.001', BTC: '0.00000001', ETH: '0.000000000000000001' }
type Currency = keyof typeof least
const currencies = Object.keys(least).filter((code): code is Currency => code in least)

function placesOf(currency: Currency): number {
  return least[currency].split('.')[1]?.length ?? 0
}
/** Requires every decimal place. */
function minor(text: string, currency: Currency): bigint {
  expect(text.split('.')[1]?.length ?? 0).toBe(placesOf(currency))
  return BigInt(text.replace('.', ''))
}

describe('exact amounts', needsStore(), () => {
  let portico: Awaited<ReturnType<typeof startPortico>>
  let token = ''
  const [here, there] = [
    { workspace: '', wallets: new Map() },
    { workspace: '', wallets: new Map() },
  ]
  const web = async (method: string, path: string, body?: object, workspace = here.workspace) => {
    const where = workspace === '' ? {} : { workspace }
    const response = await portico.call(method, `/web/v1/consumer${path}`, { token, ...where, ...(body && { body }) })
    expect(response.status, response.text).toBe(200)
    return response.body.data
  }

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ money }) => {
        money.transferFee = { ...least }
      },
    })
    token = (await signIn(portico)).accessToken
    for (const place of [here, there]) {
      const workspaceName = 'Exact'
      place.workspace = (await web('POST', '/workspaces', { workspaceName, workspaceKind: 'SANDBOX' }, '')).bizId
      for (const { currency, bizId } of await web('GET', '/wallets', undefined, place.workspace))
        place.wallets.set(currency, bizId)
    }
  })
  afterAll(() => portico?.stop())

  const balance = async (currency: Currency, place = here): Promise<bigint> => {
    const wallet = place.wallets.get(currency)
    return minor(
      (await web('GET', `/wallets/${wallet}/balance`, undefined, place.workspace)).availableBalance,
      currency,
    )
  }

  test.each(currencies)('transfers.create 200: %s, the smallest amount at the smallest fee', async (currency) => {
    const before = [await balance(currency), await balance(currency, there)]
    const wallets = { sourceWalletBizId: here.wallets.get(currency), targetWalletBizId: there.wallets.get(currency) }
    const order = await web('POST', '/transfer/command/create', { ...wallets, amount: least[currency], currency })
    expect(order).toMatchObject({ amount: least[currency], feeAmount: least[currency] })
    expect([await balance(currency), await balance(currency, there)]).toEqual([
      (before[0] ?? 0n) - 2n,
      (before[1] ?? 0n) + 1n,
    ])
    const flows = await web('GET', `/wallets/${wallets.sourceWalletBizId}/flows?pageSize=2`)
    const amounts = flows.items.map(({ amount }: { amount: string }) => amount)
    expect(amounts).toEqual([least[currency], least[currency]])
  })

  const pairs: [Currency, Currency][] = [
    ['USD', 'JPY'],
    ['JPY', 'USD'],
    ['USD', 'BHD'],
    ['BHD', 'USD'],
    ['BTC', 'USD'],
    ['USD', 'BTC'],
    ['ETH', 'USD'],
    ['USD', 'ETH'],
  ]
  test.each(pairs)(
    'exchanges.create 200: %s to %s, at the quote’s figures to the last digit',
    async (source, target) => {
      const before = [await balance(source), await balance(target)]
      const amount = placesOf(source) === 0 ? '333' : `3.${'3'.repeat(placesOf(source))}`
      const body = { sourceCurrency: source, targetCurrency: target, amount, fixedSide: 'SOURCE' }
      const { quoteBizId, ...figures } = await web('POST', '/exchanges/quote', body)
      await web('POST', '/exchanges', { quoteBizId })
      const [paid, fee, got] = [
        minor(figures.sourceAmount, source),
        minor(figures.feeAmount, source),
        minor(figures.targetAmount, target),
      ]
      expect(paid).toBe(minor(amount, source))
      expect([await balance(source), await balance(target)]).toEqual([
        (before[0] ?? 0n) - paid - fee,
        (before[1] ?? 0n) + got,
      ])
    },
  )

  test('operators.ledgerInvariants 200: the ledger balances afterwards', async () => {
    const operator = await signIn(portico, 'operator@demo.test')
    const response = await portico.call('GET', '/web/v1/system/ledger/invariants', { token: operator.accessToken })
    expect(response.body.data).toMatchObject({ holds: true })
  })
})
