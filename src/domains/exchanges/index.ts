/**
 * Exchanges between currencies. A quote fixes the rate and the amounts; an exchange uses the quote. Start reading in
 * `contract.ts` and `service.ts`. `rates.ts` combines the rates of the provider and of operators.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, Words, WorkspaceId } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { exchangeHandlers } from './handlers.ts'
import { exchangeTerms, liquidityOf, openRates, operatorRateTerms } from './open-rates.ts'
import { readTriangleGain } from './operator-rates.ts'
import { migrations } from './schema.ts'
import { deleteExpiredQuotes, type ExchangesPorts } from './service.ts'
import { deleteQuotes } from './store.ts'

export type { ExchangesPorts } from './service.ts'

export type ExchangesOptions = ExchangesPorts & {
  words: Words
  /** Interval of the cleanup job. */
  expiryMs: number
}

export interface Exchanges {
  handlers: HandlerTable
  jobs: JobKind[]
  /** Returns the largest gain of exchanging through three currencies, or null without such currencies. */
  triangleGain(): Promise<number | null>
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

export const createExchanges = ({ words, expiryMs, ...ports }: ExchangesOptions): Exchanges => ({
  handlers: exchangeHandlers(ports, words),
  jobs: [
    {
      name: 'exchanges.deleteExpiredQuotes',
      attempts: 1,
      everyMs: expiryMs,
      work: (_, { signal }) => deleteExpiredQuotes(ports, signal),
    },
  ],
  triangleGain: () => readTriangleGain(ports),
  clean: (tx, { workspaceId }) => deleteQuotes(tx, workspaceId),
})

declare module '../../api/services.ts' {
  interface DomainServices {
    exchanges: Pick<Exchanges, 'triangleGain'>
  }
}

export default domain({
  name: 'exchanges',
  ...declaredBy(contract),
  migrations,
  uses: ['wallets'],
  create: async ({ configuration: { money }, ledger, clock, logger, ...ports }) => {
    const rates = await openRates(money.exchange, clock, logger)
    await ledger.provideFunds('LIQUIDITY', liquidityOf(money.exchange))
    const { handlers, jobs, triangleGain, clean } = createExchanges({
      ...ports,
      ledger,
      clock,
      rates,
      currencies: money.currencies,
      terms: exchangeTerms(money.exchange),
      operatorRates: operatorRateTerms(money.exchange),
      expiryMs: money.background.expiryMs,
    })
    return { handlers, jobs, service: { triangleGain }, onSandboxReset: clean, close: () => rates.close() }
  },
})
