import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import { days, type HandlerTable, type Instant, minutes, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { runScheduled, type ScheduledPorts, scheduledJob } from './effects.ts'
import { proposalEvents } from './events.ts'
import { createHandlers } from './handlers.ts'
import { type NoticePorts, noticeMailJob } from './notices.ts'
import { applyProviderRights, type ProviderRights } from './provider-rights.ts'
import { proposalSettings } from './rules.ts'
import { migrations } from './schema.ts'
import type { ProposalPorts } from './service.ts'
import { countPending } from './store.ts'

/*
 * Decisions that need two operators: the permissions of operators, a new owner of a workspace without one, and the
 * reset of second factors. Start reading in `service.ts`; `effects.ts` applies confirmed proposals.
 */

export { type CommandLinePorts, changePermissions, restoreOwner } from './command-line.ts'
export type { ProviderRights } from './provider-rights.ts'

export interface ProposalsPorts extends ProposalPorts, ScheduledPorts, NoticePorts {
  words: Words
}

export interface Proposals {
  handlers: HandlerTable
  events: EventMapper[]
  /** Executes scheduled resets. */
  jobs: JobKind[]
  mailJobs: JobKind[]
  /** Removes what an identity provider no longer gives an operator, and proposes what it newly gives. */
  applyProviderRights(tx: Tx, rights: ProviderRights): Promise<void>
  /** Proposals that wait for a second operator. `since` is the time of the oldest one. */
  countPending(): Promise<{ waiting: number; since: Instant | null }>
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    proposals: Pick<Proposals, 'applyProviderRights' | 'countPending'>
  }
}

export function createProposals(ports: ProposalsPorts): Proposals {
  return {
    handlers: createHandlers(ports),
    events: [proposalEvents(ports.words)],
    jobs: [{ name: scheduledJob, attempts: 1, everyMs: minutes(1), work: (_, facts) => runScheduled(ports, facts) }],
    mailJobs: [noticeMailJob(ports)],
    applyProviderRights: (tx, rights) => applyProviderRights(ports, tx, rights),
    countPending: () => countPending(ports.database, ports.clock.now()),
  }
}

export default domain({
  name: 'proposals',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  mails: {
    directory: new URL('./mails/', import.meta.url),
    templates: { 'operator-proposal': ['proposal', 'status', 'account', 'reason', 'url'] },
  },
  migrations,
  settings: proposalSettings,
  settingsKey: 'access.proposals',
  defaults: { lifetimeMs: days(1), factorResetDelayMs: days(1) },
  // One person can try a reset of second factors.
  profileDefaults: { development: { factorResetDelayMs: 0 } },
  productionRules: { factorResetDelayMs: 'minimum' },
  uses: ['members'],
  needs: [
    'clock',
    'database',
    'deployment',
    'factors',
    'identityProviders',
    'ids',
    'ledger',
    'mailer',
    'permissions',
    'sessions',
    'signInUrl',
    'transaction',
    'words',
  ],
  create: ({ use, sessions, permissions, factors, identityProviders, deployment, ledger, ...ports }) => {
    const { mailJobs, applyProviderRights, countPending, ...parts } = createProposals({
      ...ports,
      factors,
      invite: identityProviders.invite,
      members: use('members').memberships,
      notices: use('members').notices,
      permissions: permissions.operator,
      portals: deployment.portals,
      assertDifferentPerson: (tx, one, other) => ledger.within(tx).assertDifferentPerson(one, other),
      onSessionsEnded: sessions.invalidate,
    })
    return { ...parts, gatewayJobs: mailJobs, service: { applyProviderRights, countPending } }
  },
})
