import * as z from 'zod'
import {
  amount,
  bizId,
  coded,
  codeOf,
  currency,
  decimal,
  id,
  orderFields,
  statusHistory,
  timestamp,
  withMoney,
} from '../../contract/fields.ts'

import type { LedgerTypes } from '../../contract/ledger/ledger-types.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, isRate, operation, ratePattern } from '../../kernel/index.ts'
import { orderType } from '../../ledger/order-types/contract.ts'

export const summary = 'Quotes and exchanges between currencies. Operators list and set the rates.'

export const permissions = {
  workspace: { exchange: { sortOrder: 800, actions: ['read', 'create'] } },
  operator: { 'exchange-rate': { sortOrder: 1000, actions: ['read', 'manage'], powers: ['manage'] } },
} as const satisfies Permissions

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

export const quoteStatus = codedFamily('quoteStatus', { OPEN: 10090601, USED: 10090602, EXPIRED: 10090603 })
export type QuoteStatus = CodeOf<typeof quoteStatus>

export const fixedSide = codedFamily('fixedSide', { SOURCE: 10090701, TARGET: 10090702 })
export type FixedSide = CodeOf<typeof fixedSide>

const QuoteRequest = withMoney(
  z
    .strictObject({ sourceCurrency: currency, targetCurrency: currency, amount, fixedSide: codeOf(fixedSide) })
    .refine(differs, { path: ['targetCurrency'] }),
  (body) => (body.fixedSide === 'SOURCE' ? body.sourceCurrency : body.targetCurrency),
)

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

const PendingRate = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  rate: decimal,
  setBy: bizId,
  setAt: timestamp,
  expiresAt: timestamp,
})

const ExchangeRate = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  rate: decimal.nullable().meta({ description: 'Null if no rate of the pair is in force' }),
  quoted: z.boolean().meta({
    description: 'False without a rate in force, and while customers would gain in a cycle of rates with this pair',
  }),
  updatedBy: bizId.nullable().meta({ description: 'The operator who set the rate, until it expires' }),
  confirmedBy: bizId.nullable().meta({ description: 'The second operator, for a rate that needed one' }),
  updatedAt: timestamp.nullable(),
  expiresAt: timestamp.nullable().meta({ description: 'Null unless an operator set the rate' }),
  pending: PendingRate.nullable().meta({ description: 'A rate that waits for a second operator' }),
})

/**
 * Units of the target currency per unit of the source currency. The JSON schema excludes zero with `not`, because
 * client generators fail on a string with several patterns.
 */
const rate = z
  .string()
  .regex(ratePattern)
  .refine(isRate)
  .meta({ not: { pattern: '^[0.]+$' }, examples: ['0.9215'] })

export const exchanges = orderType('EXCHANGE', {
  prefix: 'EXC',
  group: 'exchange',
  operatorPermission: 'exchange-rate:read',
  statuses: exchangeStatus,
  reply: ExchangeOrder,
  filters: {
    sourceCurrency: currency.optional(),
    targetCurrency: currency.optional(),
    exchangeStatus: codeOf(exchangeStatus).optional(),
  },
  wallets: { source: 'sourceWalletBizId', target: 'targetWalletBizId' },
  columns: [
    { name: 'sourceAmount', currencyIn: 'sourceCurrency' },
    { name: 'sourceCurrency' },
    { name: 'targetAmount', currencyIn: 'targetCurrency' },
    { name: 'targetCurrency' },
    { name: 'rate', kind: 'decimal' },
    { name: 'feeAmount', currencyIn: 'sourceCurrency' },
    { name: 'feeCurrency', from: 'sourceCurrency' },
    { name: 'failureCode' },
  ],
  moves: { create: { by: 'member', from: [], to: ['PROCESSING', 'COMPLETED'] } },
})

export const ledgerTypes = {
  orders: { EXCHANGE: exchanges },
  flowTypes: { EXCHANGE: 10090302 },
} as const satisfies LedgerTypes

export const events = exchanges.events

declare global {
  interface PorticoLedger {
    exchanges: typeof ledgerTypes
  }
  interface PorticoEvents {
    exchanges: typeof events
  }
}

const orders = exchanges.operations

export const listExchanges = operation({
  ...orders.list,
  id: 'exchanges.list',
  path: '/exchanges',
  summary: 'List the exchanges of a workspace',
  policy: { ...orders.list.policy, workspace: 'optional' },
})

export const readExchange = operation({
  ...orders.read,
  id: 'exchanges.read',
  path: '/exchanges/{exchange_id}',
  summary: 'Read an exchange',
})

export const quoteExchange = operation({
  ...orders.create,
  id: 'exchanges.quote',
  path: '/exchanges/quote',
  summary: 'Quote an exchange',
  policy: { ...orders.create.policy, idempotent: false },
  body: QuoteRequest,
  reply: Quote,
  refuses: ['RESOURCE.NOT_FOUND', 'WALLET.NOT_ACTIVE', 'EXCHANGE.RATE_UNAVAILABLE'],
})

export const readExchangeQuote = operation({
  ...orders.read,
  id: 'exchanges.readQuote',
  path: '/exchanges/quote/{quote_id}',
  summary: 'Read a quote with its current status',
  reply: Quote,
})

export const createExchange = operation({
  ...orders.create,
  id: 'exchanges.create',
  path: '/exchanges',
  summary: 'Exchange currencies at the figures of a quote',
  policy: { ...orders.create.policy, workspace: 'optional' },
  body: z.strictObject({ quoteBizId: id }),
  emits: exchanges.emits('create'),
  refuses: [
    'RESOURCE.NOT_FOUND',
    'EXCHANGE.QUOTE_UNUSABLE',
    'EXCHANGE.RATE_UNAVAILABLE',
    'WALLET.INSUFFICIENT_FUNDS',
    'WALLET.NOT_ACTIVE',
  ],
})

export const listAllExchanges = operation({
  ...orders.listAll,
  id: 'exchanges.listAll',
  path: '/exchanges',
  summary: 'List the exchanges of all workspaces',
  policy: { ...operator, permission: 'exchange-rate:read' },
})

const rates = { path: '/exchange-rates', chains: ['system'], refuses: [] } as const

export const listExchangeRates = operation({
  ...rates,
  id: 'exchanges.listRates',
  method: 'GET',
  summary: 'List the exchange rates in force',
  policy: { ...operator, permission: 'exchange-rate:read' },
  body: 'none',
  reply: z.array(ExchangeRate),
})

const pair = { sourceCurrency: currency, targetCurrency: currency }
const change = {
  ...rates,
  method: 'POST',
  policy: { ...operator, permission: 'exchange-rate:manage', stepUp: true },
  reply: ExchangeRate,
} as const

export const setExchangeRate = operation({
  ...change,
  id: 'exchanges.setRate',
  summary: 'Set the exchange rate of a pair of currencies',
  confirms: ['sourceCurrency', 'targetCurrency', 'rate'],
  body: z.strictObject({ ...pair, rate }).refine(differs, { path: ['targetCurrency'] }),
})

/** Repeats the proposed rate, so that the second operator confirms the rate that they saw. */
export const confirmExchangeRate = operation({
  ...change,
  id: 'exchanges.confirmRate',
  path: '/exchange-rates/confirm',
  summary: 'Confirm an exchange rate of another operator',
  confirms: ['sourceCurrency', 'targetCurrency', 'rate'],
  body: z.strictObject({ ...pair, rate }).refine(differs, { path: ['targetCurrency'] }),
  refuses: ['STATE.CONFLICT'],
})

export const unsetExchangeRate = operation({
  ...change,
  id: 'exchanges.unsetRate',
  path: '/exchange-rates/unset',
  summary: 'Remove the exchange rate that an operator set',
  confirms: ['sourceCurrency', 'targetCurrency'],
  body: z.strictObject(pair).refine(differs, { path: ['targetCurrency'] }),
  refuses: ['RESOURCE.NOT_FOUND'],
})

function differs(pair: { sourceCurrency: string; targetCurrency: string }): boolean {
  return pair.sourceCurrency !== pair.targetCurrency
}
