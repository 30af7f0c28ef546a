import type { Tx } from '../../database/index.ts'
import type { HandlerTable, Words, WorkspaceId } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { forgetQuotes } from './forgetting.ts'
import { exchangeHandlers } from './handlers.ts'
import { deleteQuotesOf } from './quotes-store.ts'
import type { ExchangesPorts } from './service.ts'

export type { ExchangeTerms } from './rules.ts'
export type { ExchangesPorts } from './service.ts'

export type ExchangesOptions = ExchangesPorts & {
  words: Words
  /** How often quotes that nobody used are deleted. */
  expiryMs: number
}

export interface Exchanges {
  handlers: HandlerTable
  jobs: JobKind[]
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

export const createExchanges = ({ words, expiryMs, ...ports }: ExchangesOptions): Exchanges => ({
  handlers: exchangeHandlers(ports, words),
  jobs: [
    {
      name: 'exchanges.forgetQuotes',
      attempts: 1,
      everyMs: expiryMs,
      work: (_, { signal }) => forgetQuotes(ports, signal),
    },
  ],
  clean: (tx, { workspaceId }) => deleteQuotesOf(tx, workspaceId),
})
