import * as z from 'zod'
import { amount, bizId, coded, codeOf, currency, decimal, fitsCurrency, id, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { orderFields, statusHistory } from '../../contract/orders.ts'
import { member, money, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, isRate, operation, ratePattern } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Quotes and exchanges between currencies. Operators list and set the rates.'

export const codes = {
  'EXCHANGE.RATE_UNAVAILABLE': { status: 422 },
  'EXCHANGE.QUOTE_UNUSABLE': { status: 422 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    exchanges: typeof codes
  }
}

export const exchangeStatus = codedFamily('exchangeStatus', { PROCESSING: 10090501, COMPLETED: 10090502 })
export type ExchangeStatus = CodeOf<typeof exchangeStatus>

export const quoteStatus = codedFamily('quoteStatus', { OPEN: 10090601, USED: 10090602, EXPIRED: 10090603 })
export type QuoteStatus = CodeOf<typeof quoteStatus>

export const fixedSide = codedFamily('fixedSide', { SOURCE: 10090701, TARGET: 10090702 })
export type FixedSide = CodeOf<typeof fixedSide>

const differs = (pair: { sourceCurrency: string; targetCurrency: string }): boolean =>
  pair.sourceCurrency !== pair.targetCurrency

const QuoteRequest = z
  .strictObject({ sourceCurrency: currency, targetCurrency: currency, amount, fixedSide: codeOf(fixedSide) })
  .refine(differs, { path: ['targetCurrency'] })
  .refine(
    (body) => fitsCurrency(body.amount, body.fixedSide === 'SOURCE' ? body.sourceCurrency : body.targetCurrency),
    {
      path: ['amount'],
    },
  )

/** What a quote fixes, and an exchange carries out. */
const figures = {
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  sourceAmount: decimal,
  targetAmount: decimal,
  rate: decimal,
  feeAmount: decimal,
  feeCurrency: z.string(),
}

const Quote = z.object({
  quoteBizId: bizId,
  ...figures,
  fixedSide: coded(fixedSide),
  expiresAt: timestamp,
  quoteStatus: coded(quoteStatus),
})

const ExchangeOrder = z.object({
  ...orderFields,
  workspaceBizId: bizId,
  quoteBizId: bizId,
  sourceWalletBizId: bizId,
  targetWalletBizId: bizId,
  ...figures,
  exchangeStatus: coded(exchangeStatus),
  failureCode: z.string().nullable(),
  completedAt: timestamp.nullable(),
  statusHistory: statusHistory(exchangeStatus),
})

const ExchangeRate = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  rate: decimal,
  updatedBy: bizId.nullable(),
  updatedAt: timestamp,
})

/**
 * Units of the target currency for one of the source currency: more than nothing, twelve places at most. Nothing is told by a
 * `not` beside the one pattern, since generators of clients take a text of several for an object, or end.
 */
const rate = z
  .string()
  .regex(ratePattern)
  .refine(isRate)
  .meta({ not: { pattern: '^[0.]+$' }, examples: ['0.9215'] })

export const exchangeFilters = {
  sourceCurrency: currency.optional(),
  targetCurrency: currency.optional(),
  exchangeStatus: codeOf(exchangeStatus).optional(),
}

const reading = { ...member, permission: 'exchange:read' } as const
const get = { method: 'GET', chains: ['consumer'], body: 'none' } as const
const post = { method: 'POST', chains: ['consumer'] } as const

export const listExchanges = operation({
  ...get,
  id: 'exchanges.list',
  path: '/exchanges',
  summary: 'Exchange orders of the workspace, by filter',
  policy: { ...reading, workspace: 'optional' },
  query: listQuery(['createdAt', 'updatedAt'], exchangeFilters),
  reply: page(ExchangeOrder),
  refuses: [],
})

export const readExchange = operation({
  ...get,
  id: 'exchanges.read',
  path: '/exchanges/{exchange_id}',
  summary: 'One exchange order',
  policy: { ...reading, workspace: 'required' },
  reply: ExchangeOrder,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const quoteExchange = operation({
  ...post,
  id: 'exchanges.quote',
  path: '/exchanges/quote',
  summary: 'What an exchange would yield; good once, before it expires',
  policy: { ...money, idempotent: false, workspace: 'required', permission: 'exchange:create' },
  body: QuoteRequest,
  reply: Quote,
  refuses: ['RESOURCE.NOT_FOUND', 'WALLET.NOT_ACTIVE', 'EXCHANGE.RATE_UNAVAILABLE'],
})

export const readExchangeQuote = operation({
  ...get,
  id: 'exchanges.readQuote',
  path: '/exchanges/quote/{quote_id}',
  summary: 'A quote, and whether it is still open; one that was not used is kept for a day',
  policy: { ...reading, workspace: 'required' },
  reply: Quote,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const createExchange = operation({
  ...post,
  id: 'exchanges.create',
  path: '/exchanges',
  summary: 'Exchange at the figures of a quote',
  policy: { ...money, workspace: 'optional', permission: 'exchange:create' },
  body: z.strictObject({ quoteBizId: id }),
  reply: ExchangeOrder,
  refuses: [
    'RESOURCE.NOT_FOUND',
    'EXCHANGE.QUOTE_UNUSABLE',
    'EXCHANGE.RATE_UNAVAILABLE',
    'WALLET.INSUFFICIENT_FUNDS',
    'WALLET.NOT_ACTIVE',
  ],
})

const rates = { path: '/exchange-rates', chains: ['system'], refuses: [] } as const

export const listExchangeRates = operation({
  ...rates,
  id: 'exchanges.listRates',
  method: 'GET',
  summary: 'The rates in force',
  policy: { ...operator, permission: 'exchange-rate:read' },
  body: 'none',
  reply: z.array(ExchangeRate),
})

export const setExchangeRate = operation({
  ...rates,
  id: 'exchanges.setRate',
  method: 'POST',
  summary: 'Set the rate of a pair of currencies, at which others are quoted; quotes given out keep theirs',
  policy: { ...operator, permission: 'exchange-rate:manage' },
  body: z
    .strictObject({ sourceCurrency: currency, targetCurrency: currency, rate })
    .refine(differs, { path: ['targetCurrency'] }),
  reply: ExchangeRate,
})
