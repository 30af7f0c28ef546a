/**
 * Exchanges between currencies. A quote fixes the rate and the amounts; an exchange uses the quote. Start reading in
 * `contract.ts` and `service.ts`. `rates.ts` combines the rates of the provider and of operators, and `table.ts` judges them
 * as a whole.
 */

import type { Logger } from 'pino'
import { declaredBy, domain } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import { type HandlerTable, minutes, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { orderEvents } from '../../ledger/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { PairRate } from '../../platform/exchange-rates.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { gainWatch } from './gain-watch.ts'
import { createHandlers } from './handlers.ts'
import { type RateGains, readGains } from './operator-rates.ts'
import { ratesInForce } from './rates.ts'
import { migrations } from './schema.ts'
import { deleteExpiredQuotes, type ExchangesPorts } from './service.ts'
import {
  checkExchangeSettings,
  developmentExchange,
  exchangeDefaults,
  exchangeSettings,
  exchangeTerms,
  liquidityOf,
  openRates,
  operatorRateTerms,
} from './settings.ts'
import { deleteQuotes } from './store.ts'
import { toExchangeView } from './view.ts'

export type { ExchangesPorts } from './service.ts'
export { type ConfiguredRates, configuredRates } from './settings.ts'

export type ExchangesOptions = Omit<ExchangesPorts, 'findGainingPairs'> & {
  words: Words
  logger: Pick<Logger, 'warn'>
}

export interface Exchanges {
  handlers: HandlerTable
  jobs: JobKind[]
  events: EventMapper[]
  readGains(): Promise<RateGains>
  /** Reads within the transaction, if `database` is one. */
  ratesInForce(database: Database): Promise<readonly PairRate[]>
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** An expired quote can never be accepted. It stays for a day, so the moment of its deletion does not matter. */
const cleanupEveryMs = minutes(1)

export function createExchanges({ words, logger, ...options }: ExchangesOptions): Exchanges {
  const ports = { ...options, words, findGainingPairs: gainWatch(options.terms, logger) }
  const work: JobKind['work'] = (_, { signal }) => deleteExpiredQuotes(ports, signal)
  return {
    handlers: createHandlers(ports),
    events: [orderEvents(contract.exchanges, words, toExchangeView)],
    jobs: [{ name: 'exchanges.deleteExpiredQuotes', attempts: 1, everyMs: cleanupEveryMs, work }],
    readGains: () => readGains(ports),
    ratesInForce: (database) => ratesInForce({ ...ports, database }),
    clean: (tx, { workspaceId }) => deleteQuotes(tx, workspaceId),
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    exchanges: Pick<Exchanges, 'readGains' | 'ratesInForce'>
  }
}

export default domain({
  name: 'exchanges',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations,
  settings: exchangeSettings,
  settingsKey: 'money.exchange',
  defaults: exchangeDefaults,
  profileDefaults: { development: developmentExchange },
  checkSettings: checkExchangeSettings,
  productionRules: { band: 'maximum' },
  uses: ['wallets'],
  needs: ['clock', 'currencies', 'database', 'ids', 'ledger', 'logger', 'transaction', 'words'],
  create: async ({ settings, ledger, clock, logger, ...ports }) => {
    const rates = await openRates(settings, clock, logger)
    await ledger.provideFunds('LIQUIDITY', liquidityOf(settings))
    const { handlers, jobs, events, clean, ...service } = createExchanges({
      ...ports,
      logger,
      ledger,
      clock,
      rates,
      terms: exchangeTerms(settings),
      operatorRates: operatorRateTerms(settings),
    })
    return { handlers, jobs, events, service, onSandboxReset: clean, close: () => rates.close() }
  },
})
