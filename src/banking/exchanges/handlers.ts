import { moneyOf } from '../../contract/fields.ts'
import {
  bizId,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  mapPage,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import {
  memberContext,
  type Order,
  reachedAt,
  toCodedValue,
  toOrderQuery,
  toOrderView,
  type Viewer,
  viewerOf,
} from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { confirmExchangeRate, setExchangeRate, unsetExchangeRate } from './operator-rates.ts'
import { parseFigures } from './order.ts'
import type { ProposedRate } from './rate-store.ts'
import { type CurrentRate, listRates } from './rates.ts'
import type { Figures } from './rules.ts'
import {
  createExchange,
  type ExchangesPorts,
  type QuoteState,
  quoteExchange,
  readExchange,
  readExchangeQuote,
} from './service.ts'

const toFiguresView = ({ source, target, fee, rate }: Figures) => ({
  sourceCurrency: source.currency,
  targetCurrency: target.currency,
  sourceAmount: formatMoney(source),
  targetAmount: formatMoney(target),
  rate,
  feeAmount: formatMoney(fee),
  feeCurrency: fee.currency,
})

const toQuoteView = ({ id, figures, expiresAt, status }: QuoteState, viewer: Viewer) => ({
  quoteBizId: id,
  ...toFiguresView(figures),
  fixedSide: toCodedValue(contract.fixedSide, figures.fixedSide, viewer),
  expiresAt: toIso(expiresAt),
  quoteStatus: toCodedValue(contract.quoteStatus, status, viewer),
})

/** Throws if the order is not an exchange. */
export const toExchangeView = (order: Order, viewer: Viewer) => {
  const { sourceWalletBizId, targetWalletBizId, data } = order
  if (sourceWalletBizId === null || targetWalletBizId === null) throw new TypeError(`${order.bizId} lacks a wallet`)
  return {
    ...toOrderView(order, contract.exchangeStatus, viewer),
    ...toFiguresView(parseFigures(data)),
    quoteBizId: data.quoteBizId ?? '',
    sourceWalletBizId,
    targetWalletBizId,
    exchangeStatus: toCodedValue(contract.exchangeStatus, order.status, viewer),
    failureCode: data.failureCode ?? null,
    completedAt: toIsoOrNull(reachedAt(order, 'COMPLETED')),
  }
}

const toPendingView = ({ source, target, rate, proposedBy, proposedAt, expiresAt }: ProposedRate) => ({
  sourceCurrency: source,
  targetCurrency: target,
  rate,
  setBy: proposedBy,
  setAt: toIso(proposedAt),
  expiresAt: toIso(expiresAt),
})

const toRateView = ({ pair, inForce, pending, isQuoted }: CurrentRate) => ({
  sourceCurrency: pair.source,
  targetCurrency: pair.target,
  rate: inForce?.rate ?? null,
  quoted: isQuoted,
  updatedBy: inForce?.updatedBy ?? null,
  confirmedBy: inForce?.confirmedBy ?? null,
  updatedAt: toIsoOrNull(inForce?.updatedAt ?? null),
  expiresAt: toIsoOrNull(inForce?.expiresAt ?? null),
  pending: pending && toPendingView(pending),
})

const toPair = ({ sourceCurrency, targetCurrency }: { sourceCurrency: string; targetCurrency: string }) => ({
  source: sourceCurrency,
  target: targetCurrency,
})

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
