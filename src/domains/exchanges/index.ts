/**
 * Exchanges between currencies. A quote fixes the rate and the amounts; an exchange then uses the quote. Start reading
 * in `contract.ts` and `service.ts`. `order.ts` maps an exchange to an order of the ledger. `rates.ts` combines the
 * provider's rates with those that operators set.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { HandlerTable, Words, WorkspaceId } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { exchangeHandlers } from './handlers.ts'
import { exchangeTerms, liquidityOf, openRates } from './open-rates.ts'
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
  /** Deletes a sandbox's quotes when it is reset. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** Builds the domain. */
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
  clean: (tx, { workspaceId }) => deleteQuotes(tx, workspaceId),
})

export default domain({
  name: 'exchanges',
  ...declaredBy(contract),
  migrations,
  uses: ['wallets'],
  create: async ({ configuration: { money }, ledger, clock, logger, ...ports }) => {
    const rates = await openRates(money.exchange, clock, logger)
    await ledger.provideLiquidity(liquidityOf(money.exchange))
    const { handlers, jobs, clean } = createExchanges({
      ...ports,
      ledger,
      clock,
      rates,
      currencies: money.currencies,
      terms: exchangeTerms(money.exchange),
      expiryMs: money.background.expiryMs,
    })
    return { handlers, jobs, onSandboxReset: clean, close: () => rates.close() }
  },
})
