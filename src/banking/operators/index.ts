import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { bizId, type HandlerTable, type Portal } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import type { LedgerPorts } from './ledger-check.ts'
import { decisions } from './rules.ts'
import { type AccountPorts, decisionMailJob, mailDecision } from './service.ts'
import { countPendingApprovals, type PendingApprovals } from './store.ts'

/*
 * Operations of the SYSTEM portal that belong to no other domain: accounts, the ledger check and the audit log. Start
 * reading in `service.ts` and `ledger-check.ts`.
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
  /** Per portal. Omits portals without accounts that wait for approval. */
  countPendingApprovals(): Promise<ReadonlyMap<Portal, PendingApprovals>>
}

export function createOperators(ports: OperatorsPorts): Operators {
  return {
    handlers: createHandlers(ports),
    jobs: [
      { name: decisionMailJob, attempts: 10, work: (payload) => mailDecision(ports, DecisionMail.parse(payload)) },
    ],
    countPendingApprovals: () => countPendingApprovals(ports.database),
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    operators: Pick<Operators, 'countPendingApprovals'>
  }
}

export default domain({
  name: 'operators',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  needs: [
    'clock',
    'database',
    'hooks',
    'ids',
    'ledger',
    'mailer',
    'sessions',
    'signInUrl',
    'transaction',
    'withoutTimeouts',
    'words',
    'workspaces',
  ],
  create: ({ sessions, workspaces, hooks, ...ports }) => {
    const { handlers, jobs, countPendingApprovals } = createOperators({
      ...ports,
      endSessions: sessions.end,
      freezeOwnWorkspace: workspaces.freezeOwn,
      suspendCredentials: hooks.accountRecovered,
      onSessionsEnded: sessions.invalidate,
    })
    return { handlers, gatewayJobs: jobs, service: { countPendingApprovals } }
  },
})
