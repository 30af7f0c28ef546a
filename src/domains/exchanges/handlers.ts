import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  notFound,
  toIso,
  type Words,
} from '../../kernel/index.ts'

import { listing, memberActing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { tellExchange, tellQuote } from './exchange.ts'
import { type RateInForce, ratesInForce } from './rates.ts'
import { type ExchangesPorts, exchange, findQuote, quote, setRate } from './service.ts'

const tellRate = ({ source, target, rate, updatedBy, asOf }: RateInForce) => ({
  sourceCurrency: source,
  targetCurrency: target,
  rate,
  updatedBy,
  updatedAt: toIso(asOf),
})

export const exchangeHandlers = (ports: ExchangesPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    quoteExchange: async ({ body, workspace, caller, locale }) => {
      const by = { actor: caller.accountId, workspace: workspace.id }
      const { quote: made, figures } = await quote(ports, body, by)
      return tellQuote({ id: made.id, figures, expiresAt: made.expiresAt, status: 'OPEN' }, { words, locale })
    },

    readExchangeQuote: async ({ params, workspace, locale }) =>
      tellQuote(await findQuote(ports, bizId(params.quote_id), workspace.id), { words, locale }),

    createExchange: async (request) => {
      const order = await exchange(ports, request.body.quoteBizId, memberActing(request))
      return tellExchange(order, { words, locale: request.locale })
    },

    listExchanges: async ({ query, workspace, locale }) => {
      const { sortBy, sourceCurrency, targetCurrency, exchangeStatus } = query
      const orders = await ports.ledger.listOrders({
        ...listing(query),
        sortBy,
        type: 'EXCHANGE',
        workspace: workspace.id,
        statuses: exchangeStatus && [exchangeStatus],
        data: { ...(sourceCurrency && { sourceCurrency }), ...(targetCurrency && { targetCurrency }) },
      })
      return mapPage(orders, (order) => tellExchange(order, { words, locale }))
    },

    readExchange: async ({ params, workspace, locale }) => {
      const id = bizId<'order'>(params.exchange_id)
      const order = await ports.ledger.readOrder({ id, type: 'EXCHANGE', workspace: workspace.id })
      if (!order) throw notFound('no such exchange')
      return tellExchange(order, { words, locale })
    },

    listExchangeRates: async () => (await ratesInForce(ports)).map(tellRate),

    setExchangeRate: async (request) => {
      const { sourceCurrency: source, targetCurrency: target, rate } = request.body
      const { updatedAt, ...set } = await setRate(ports, { source, target, rate }, actOf(request))
      return tellRate({ ...set, asOf: updatedAt })
    },
  })
