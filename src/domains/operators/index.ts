import { z } from 'zod'
import { bizId, type HandlerTable, type Portal } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { createAccountHandlers, createAuditHandlers, createLedgerHandlers } from './handlers.ts'
import type { LedgerPorts } from './ledger-check.ts'
import { decisions } from './rules.ts'
import { type AccountPorts, decisionMailJob, mailDecision } from './service.ts'
import { countPendingApprovals } from './store.ts'

/*
 * What operators do outside the other domains: decide about accounts, check the ledger, and read the audit log. All of it
 * belongs to the SYSTEM portal. Start reading in `service.ts`, which is about accounts.
 */

export { operatorRoles } from './rules.ts'

export interface OperatorsPorts extends AccountPorts, LedgerPorts {}

const DecisionMail = z.object({
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  decision: z.enum(decisions),
  reason: z.string(),
})

export interface Operators {
  handlers: HandlerTable
  jobs: JobKind[]
  /** Number of accounts per portal that wait for approval, for the metrics. Portals without any may be missing. */
  countPendingApprovals(): Promise<ReadonlyMap<Portal, number>>
}

export const createOperators = (ports: OperatorsPorts): Operators => ({
  handlers: new Map([...createAccountHandlers(ports), ...createLedgerHandlers(ports), ...createAuditHandlers(ports)]),
  jobs: [{ name: decisionMailJob, attempts: 10, work: (payload) => mailDecision(ports, DecisionMail.parse(payload)) }],
  countPendingApprovals: () => countPendingApprovals(ports.database),
})
