import { z } from 'zod'
import { bizId, type HandlerTable, type Portal } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { accountHandlers } from './account-handlers.ts'
import { type AccountPorts, decisionMailJob, tellDecision } from './accounts.ts'
import { countAwaiting } from './accounts-store.ts'
import { auditHandlers } from './audit-handlers.ts'
import { type LedgerPorts, ledgerHandlers } from './ledger-handlers.ts'
import { toldDecisions } from './rules.ts'

export { operatorRoles } from './rules.ts'

export interface OperatorsOptions extends AccountPorts, LedgerPorts {}

const DecisionMail = z.object({
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  decision: z.enum(toldDecisions),
  reason: z.string(),
})

export interface Operators {
  handlers: HandlerTable
  jobs: JobKind[]
  /** How many accounts wait for approval, for the metrics; a portal without any may be missing. */
  accountsAwaiting(): Promise<ReadonlyMap<Portal, number>>
}

/** What operators do that is no other domain's: accounts, the book and the audit log (SYSTEM portal). */
export const createOperators = (options: OperatorsOptions): Operators => {
  const { database, words, clock } = options
  const tables = [accountHandlers(options, words), ledgerHandlers(options), auditHandlers(database, clock, words)]
  return {
    handlers: new Map(tables.flatMap((table) => [...table])),
    jobs: [
      { name: decisionMailJob, attempts: 10, work: (payload) => tellDecision(options, DecisionMail.parse(payload)) },
    ],
    accountsAwaiting: () => countAwaiting(database),
  }
}
