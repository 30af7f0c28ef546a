import type { HandlerTable, Words } from '../../kernel/index.ts'
import { exchangeHandlers } from './handlers.ts'
import type { ExchangesPorts } from './service.ts'

export type { RateSource, SourcedRate } from './rates.ts'
export type { ExchangeTerms } from './rules.ts'
export type { ExchangesPorts } from './service.ts'

export const createExchanges = (ports: ExchangesPorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: exchangeHandlers(ports, ports.words),
})
