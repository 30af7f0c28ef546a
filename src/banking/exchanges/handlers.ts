import { moneyOf } from '../../contract/fields.ts'
import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import { createOrders, toCodedValue, type Viewer, viewerOf } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { confirmExchangeRate, setExchangeRate, unsetExchangeRate } from './operator-rates.ts'
import { toExchangeView, toFiguresView } from './order.ts'
import type { ProposedRate } from './rate-store.ts'
import { type CurrentRate, listRates } from './rates.ts'
import { type ExchangesPorts, type QuoteState, quoteExchange, readExchangeQuote, useQuote } from './service.ts'

export function exchangeHandlers(ports: ExchangesPorts, words: Words): HandlerTable {
  const orders = createOrders(contract.exchanges, { ledger: ports.ledger, words }, toExchangeView)
  return createHandlerTable(contract, {
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

    createExchange: orders.create(({ body }, context) =>
      useQuote(ports, bizId<'quote'>(body.quoteBizId), context, (opening) => orders.open('create', context, opening)),
    ),

    readExchange: orders.read,

    listExchanges: async (request) => {
      const { query, workspace } = request
      const { sourceCurrency, targetCurrency } = query
      const data = { ...(sourceCurrency && { sourceCurrency }), ...(targetCurrency && { targetCurrency }) }
      return mapPage(await orders.page(query, workspace.id, { data }), (order) => orders.show(order, request))
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

function toQuoteView({ id, figures, expiresAt, status }: QuoteState, viewer: Viewer) {
  return {
    quoteBizId: id,
    ...toFiguresView(figures),
    fixedSide: toCodedValue(contract.fixedSide, figures.fixedSide, viewer),
    expiresAt: toIso(expiresAt),
    quoteStatus: toCodedValue(contract.quoteStatus, status, viewer),
  }
}

function toRateView({ pair, inForce, pending, isQuoted }: CurrentRate) {
  return {
    sourceCurrency: pair.source,
    targetCurrency: pair.target,
    rate: inForce?.rate ?? null,
    quoted: isQuoted,
    updatedBy: inForce?.updatedBy ?? null,
    confirmedBy: inForce?.confirmedBy ?? null,
    updatedAt: toIsoOrNull(inForce?.updatedAt ?? null),
    expiresAt: toIsoOrNull(inForce?.expiresAt ?? null),
    pending: pending && toPendingView(pending),
  }
}

function toPendingView({ source, target, rate, proposedBy, proposedAt, expiresAt }: ProposedRate) {
  return {
    sourceCurrency: source,
    targetCurrency: target,
    rate,
    setBy: proposedBy,
    setAt: toIso(proposedAt),
    expiresAt: toIso(expiresAt),
  }
}

function toPair({ sourceCurrency, targetCurrency }: { sourceCurrency: string; targetCurrency: string }) {
  return {
    source: sourceCurrency,
    target: targetCurrency,
  }
}
