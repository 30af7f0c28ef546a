import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { bizId, type HandlerTable, type Portal } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { createAccountHandlers, createAuditHandlers, createLedgerHandlers } from './handlers.ts'
import type { LedgerPorts } from './ledger-check.ts'
import { decisions } from './rules.ts'
import { type AccountPorts, decisionMailJob, mailDecision } from './service.ts'
import { countPendingApprovals } from './store.ts'

/*
 * Operations of the SYSTEM portal that belong to no other domain: manage accounts, check the ledger, and read the audit
 * log. Start reading in `service.ts` for accounts and in `ledger-check.ts` for the ledger.
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
  /** Returns the number of accounts per portal that wait for approval, for the metrics. Omits portals without any. */
  countPendingApprovals(): Promise<ReadonlyMap<Portal, number>>
}

/** Builds the domain. */
export const createOperators = (ports: OperatorsPorts): Operators => ({
  handlers: new Map([...createAccountHandlers(ports), ...createLedgerHandlers(ports), ...createAuditHandlers(ports)]),
  jobs: [{ name: decisionMailJob, attempts: 10, work: (payload) => mailDecision(ports, DecisionMail.parse(payload)) }],
  countPendingApprovals: () => countPendingApprovals(ports.database),
})

declare module '../../api/services.ts' {
  interface DomainServices {
    operators: Pick<Operators, 'countPendingApprovals'>
  }
}

export default domain({
  name: 'operators',
  ...declaredBy(contract),
  create: ({ sessions, workspaces, ...ports }) => {
    const { handlers, jobs, countPendingApprovals } = createOperators({
      ...ports,
      endSessions: sessions.end,
      freezeOwnWorkspace: workspaces.freezeOwn,
      onSessionsEnded: sessions.invalidate,
    })
    return { handlers, gatewayJobs: jobs, service: { countPendingApprovals } }
  },
})
