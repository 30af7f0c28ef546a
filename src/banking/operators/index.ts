import { z } from 'zod'
import { declaredBy, domain } from '../../api/domain.ts'
import { bizId, type HandlerTable, type Portal } from '../../kernel/index.ts'
import { AuditVerifier } from '../../platform/audit/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import type { LedgerPorts } from './ledger-check.ts'
import { decisions } from './rules.ts'
import { type AccountCommandPorts, type AccountPorts, decisionMailJob, mailDecision } from './service.ts'
import { countPendingApprovals, type PendingApprovals } from './store.ts'

/*
 * Operations of the SYSTEM portal that belong to no other domain: accounts, the ledger check and the audit log. Start
 * reading in `service.ts` and `ledger-check.ts`.
 */

export { operatorRoles } from './rules.ts'
export { type AccountCommandPorts, changeAccountStatus, terminateSessions } from './service.ts'
export { accountById, findAccounts, listOperatorAccounts } from './store.ts'

export interface OperatorsPorts extends AccountPorts, AccountCommandPorts, LedgerPorts {}

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
  /** By an operation of this process. Null since its start. */
  lastAuditVerification(): AuditVerifier['lastResult']
}

export function createOperators(ports: OperatorsPorts): Operators {
  const verifier = new AuditVerifier(ports)
  return {
    handlers: createHandlers({ ...ports, verifier }),
    jobs: [
      { name: decisionMailJob, attempts: 10, work: (payload) => mailDecision(ports, DecisionMail.parse(payload)) },
    ],
    countPendingApprovals: () => countPendingApprovals(ports.database),
    lastAuditVerification: () => verifier.lastResult,
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    operators: Pick<Operators, 'countPendingApprovals' | 'lastAuditVerification'>
  }
}

export default domain({
  name: 'operators',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  needs: [
    'clock',
    'database',
    'deployment',
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
  create: ({ sessions, workspaces, hooks, deployment, ...ports }) => {
    const { handlers, jobs, countPendingApprovals, lastAuditVerification } = createOperators({
      ...ports,
      portals: deployment.portals,
      sendsMail: true,
      endSessions: sessions.end,
      freezeOwnWorkspace: workspaces.freezeOwn,
      suspendCredentials: hooks.accountRecovered,
      onSessionsEnded: sessions.invalidate,
    })
    return { handlers, gatewayJobs: jobs, service: { countPendingApprovals, lastAuditVerification } }
  },
})
