import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { quoteExchange } from '../../src/banking/exchanges/contract.ts'
import { createTransfer } from '../../src/banking/transfers/contract.ts'
import { amount, currency, withMoney } from '../../src/contract/fields.ts'
import { confirmedSchemas } from '../../src/contract/step-up-purpose.ts'
import { canonicalJson, confirmedFields, type Money } from '../../src/kernel/index.ts'

const request = {
  sourceWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10',
  targetWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a11',
  amount: '12.5',
  currency: 'USD',
}
const quote = { sourceCurrency: 'USD', targetCurrency: 'JPY', amount: '500', fixedSide: 'TARGET' as const }

test('transfers.create: the handler reads Money in the currency of the body', () => {
  expect(createTransfer.body.parse(request).amount).toMatchObject({ minor: 1_250n, currency: 'USD' })
})

test('exchanges.quote: the Money has the currency of the fixed side', () => {
  expect(quoteExchange.body.parse(quote).amount).toMatchObject({ minor: 500n, currency: 'JPY' })
  expect(quoteExchange.body.parse({ ...quote, fixedSide: 'SOURCE' }).amount).toMatchObject({ currency: 'USD' })
})

test('hashes, step-ups and services get the amount as the client sent it', () => {
  const body = createTransfer.body.parse(request)
  expect(JSON.parse(JSON.stringify(body))).toEqual(request)
  expect(canonicalJson(body)).toBe(canonicalJson(request))
  const { currency: code, ...confirmed } = request
  expect(canonicalJson(confirmedFields(createTransfer, body))).toBe(canonicalJson({ ...confirmed, currency: code }))
  expect(Object.keys(confirmedSchemas(createTransfer))).toEqual(createTransfer.confirms)
})

test.each([
  ['more decimal places than the currency has', { amount: '12.505' }],
  ['no decimal places in the currency', { amount: '12.5', currency: 'JPY' }],
  ['31 digits', { amount: '9'.repeat(29) }],
  ['before the same wallet twice', { amount: '12.505', targetWalletBizId: request.sourceWalletBizId }],
])('transfers.create 400: %s names the field amount', (_name, change) => {
  expect(createTransfer.body.safeParse({ ...request, ...change }).error?.issues[0]?.path).toEqual(['amount'])
})

test('exchanges.quote 400: the same currency twice is named before the amount', () => {
  const same = { ...quote, sourceCurrency: 'JPY', amount: '12.505' }
  expect(quoteExchange.body.safeParse(same).error?.issues[0]?.path).toEqual(['targetCurrency'])
})

test('clients send texts, and handlers read Money', () => {
  const body = withMoney(z.strictObject({ amount, currency }), ({ currency: code }) => code)
  expect(body.safeParse({ amount: '1', currency: 'EUR' }).success).toBe(true)
  expectTypeOf<z.input<typeof body>>().toEqualTypeOf<{ amount: string; currency: string }>()
  expectTypeOf<z.output<typeof body>['amount']>().toExtend<Money>()
})
