import { moneyOf } from '../../contract/fields.ts'
import { bizId, createHandlerTable, type HandlerTable, mapPage, type Words } from '../../kernel/index.ts'
import { memberContext, toOrderQuery, viewerOf } from '../../ledger/index.ts'

import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { listRates } from './rates.ts'
import {
  createExchange,
  type ExchangesPorts,
  quoteExchange,
  readExchange,
  readExchangeQuote,
  setExchangeRate,
} from './service.ts'
import { toExchangeView, toQuoteView, toRateView } from './view.ts'

export const exchangeHandlers = (ports: ExchangesPorts, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    quoteExchange: async (request) => {
      const { body, workspace, caller } = request
      const fixedCurrency = body.fixedSide === 'SOURCE' ? body.sourceCurrency : body.targetCurrency
      const input = { ...body, amount: moneyOf(body.amount, fixedCurrency) }
      const quote = await quoteExchange(ports, input, { actor: caller.accountId, workspace: workspace.id })
      return toQuoteView(quote, viewerOf(words, request))
    },

    readExchangeQuote: async (request) => {
      const scope = { id: bizId<'quote'>(request.params.quote_id), workspace: request.workspace.id }
      return toQuoteView(await readExchangeQuote(ports, scope), viewerOf(words, request))
    },

    createExchange: async (request) => {
      const input = { quote: bizId<'quote'>(request.body.quoteBizId) }
      return toExchangeView(await createExchange(ports, input, memberContext(request)), viewerOf(words, request))
    },

    listExchanges: async (request) => {
      const { query, workspace } = request
      const { sourceCurrency, targetCurrency } = query
      const scope = { type: 'EXCHANGE', workspace: workspace.id, status: query.exchangeStatus } as const
      const orders = await ports.ledger.listOrders({
        ...toOrderQuery(query, scope),
        data: { ...(sourceCurrency && { sourceCurrency }), ...(targetCurrency && { targetCurrency }) },
      })
      return mapPage(orders, (order) => toExchangeView(order, viewerOf(words, request)))
    },

    readExchange: async (request) => {
      const scope = { id: bizId<'order'>(request.params.exchange_id), workspace: request.workspace.id }
      return toExchangeView(await readExchange(ports, scope), viewerOf(words, request))
    },

    listExchangeRates: async () => (await listRates(ports)).map(toRateView),

    setExchangeRate: async (request) => {
      const { sourceCurrency: source, targetCurrency: target, rate } = request.body
      return toRateView(await setExchangeRate(ports, { source, target, rate }, auditContextOf(request)))
    },
  })
