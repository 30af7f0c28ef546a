import { bizId, createHandlerTable, type HandlerTable, mapPage, type Words } from '../../kernel/index.ts'
import { createOrders, viewerOf } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { confirmExchangeRate, setExchangeRate, unsetExchangeRate } from './operator-rates.ts'
import { listRates } from './rates.ts'
import { type ExchangesPorts, quoteExchange, readExchangeQuote, useQuote } from './service.ts'
import { toExchangeView, toQuoteView, toRateView } from './view.ts'

export function createHandlers(ports: ExchangesPorts & { words: Words }): HandlerTable {
  const { words } = ports
  const orders = createOrders(contract.exchanges, { ledger: ports.ledger, words }, toExchangeView)
  return createHandlerTable(contract, {
    quoteExchange: async (request) => {
      const { body, workspace, caller } = request
      const quote = await quoteExchange(ports, body, { actor: caller.accountId, workspace: workspace.id })
      return toQuoteView(quote, viewerOf(words, request))
    },

    readExchangeQuote: async (request) => {
      const scope = { id: bizId<'quote'>(request.params.quote_id), workspace: request.workspace.id }
      return toQuoteView(await readExchangeQuote(ports, scope), viewerOf(words, request))
    },

    createExchange: orders.create(({ body }, context) =>
      useQuote(ports, bizId<'quote'>(body.quoteBizId), context, (opening) => orders.open('create', context, opening)),
    ),

    readExchange: orders.read,

    listExchanges: async (request) => {
      const { query, workspace } = request
      const found = await orders.page(query, workspace.id, toCurrencies(query))
      return mapPage(found, (order) => orders.show(order, request))
    },

    listAllExchanges: async (request) => {
      const { query } = request
      const found = await orders.page(query, null, toCurrencies(query))
      return mapPage(found, (order) => orders.showToOperator(order, request))
    },

    listExchangeRates: async () => (await listRates(ports)).map(toRateView),

    setExchangeRate: async (request) => {
      const input = { ...toPair(request.body), rate: request.body.rate }
      return toRateView(await setExchangeRate(ports, input, auditContextOf(request)))
    },

    confirmExchangeRate: async (request) => {
      const input = { ...toPair(request.body), rate: request.body.rate }
      return toRateView(await confirmExchangeRate(ports, input, auditContextOf(request)))
    },

    unsetExchangeRate: async (request) =>
      toRateView(await unsetExchangeRate(ports, toPair(request.body), auditContextOf(request))),
  })
}

function toCurrencies(query: { sourceCurrency?: string | undefined; targetCurrency?: string | undefined }) {
  const { sourceCurrency, targetCurrency } = query
  return { data: { ...(sourceCurrency && { sourceCurrency }), ...(targetCurrency && { targetCurrency }) } }
}

function toPair({ sourceCurrency, targetCurrency }: { sourceCurrency: string; targetCurrency: string }) {
  return {
    source: sourceCurrency,
    target: targetCurrency,
  }
}
