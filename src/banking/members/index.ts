import { z } from 'zod'
import { type DomainPorts, declaredBy, domain } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import { positive } from '../../config/values.ts'
import type { PermissionRow } from '../../contract/permissions.ts'
import type { Database } from '../../database/index.ts'
import {
  addMs,
  type Caller,
  type HandlerTable,
  hours,
  type Ids,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { memberEvents } from './events/mapper.ts'
import { createHandlers } from './handlers.ts'
import { deleteFormerMemberships } from './membership-store.ts'
import { Memberships, type MembershipsPorts } from './memberships.ts'
import { createOwnerNotices, ownerNoticeJob } from './notices.ts'
import { suspendBroughtIn } from './recovery.ts'
import { deleteGrantsBefore } from './recovery-store.ts'
import { AccessRules } from './rules.ts'
import { migrations } from './schema.ts'
import { enterWorkspace, identifyWorkspace, StreamAccess } from './service.ts'

/*
 * Memberships of workspaces, with their roles and limits. Other domains change members through `memberships.ts` and
 * inform owners through `notices.ts`. The gateway reads access through `enter`. Start reading in `rules.ts`.
 */

export type { Memberships } from './memberships.ts'
export { membershipsOf, workspaceById } from './store.ts'

export interface MembersPorts extends Omit<MembershipsPorts, 'rules'> {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  words: Words
  /** All workspace permissions. */
  permissionTable: readonly PermissionRow[]
  hasWorkspace(id: WorkspaceId): Promise<boolean>
}

export interface Members {
  handlers: HandlerTable
  events: EventMapper[]
  notices: OwnerNotices
  memberships: Memberships
  /** A null id selects the caller's default workspace. Implements the gateway's WorkspacePort. */
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
  /** For an open stream. Implements the gateway's WorkspacePort. */
  stay(caller: Caller, workspaceId: WorkspaceId): Promise<WorkspaceAccess>
  /**
   * Returns a workspace without permissions, even if the caller cannot enter it. Implements the gateway's
   * WorkspacePort.
   */
  identify(caller: Caller, workspaceId: string): Promise<WorkspaceAccess>
}

export const memberSettings = z.strictObject({
  payoutHoldMs: z
    .int()
    .min(0)
    .describe(
      'Time in milliseconds during which a member cannot use or grant a newly gained permission to pay out or to add payout accounts. During this time, a new OWNER cannot demote older owners. Such requests get 403. The founder of a workspace is exempt. 0 disables the hold.',
    ),
  workspaces: z.strictObject({
    maxPerAccount: positive.describe(
      'Maximum number of workspaces to which an account can belong. Joining or opening a further workspace gets 409.',
    ),
  }),
})

export function membershipSettings(
  { workspaces, payoutHoldMs }: z.output<typeof memberSettings>,
  stepUpMs: number,
): MembershipsPorts['settings'] {
  return { ...workspaces, payoutHoldMs, stepUpMs }
}

export function createMembers(ports: MembersPorts): Members {
  const rules = new AccessRules(ports.permissionTable)
  const memberships = new Memberships({ ...ports, rules })
  const notices = createOwnerNotices(ports)
  const streams = new StreamAccess({ database: ports.database, rules })
  return {
    handlers: createHandlers({ ...ports, memberships, notices }),
    events: [memberEvents(ports.words)],
    notices,
    memberships,
    enter: (caller, workspaceId) => enterWorkspace({ database: ports.database, rules }, caller, workspaceId),
    stay: (caller, workspaceId) => streams.enter(caller, workspaceId),
    identify: (caller, workspaceId) => identifyWorkspace(ports.database, caller, workspaceId),
  }
}

const ownerNotices = ['OWNER_ADDED', 'OWNER_REMOVED', 'OWNER_LIMITED', 'MEMBER_ADDED', 'MEMBER_REMOVED'] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    members: typeof ownerNotices
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    members: Pick<Members, 'memberships' | 'notices' | 'enter' | 'stay' | 'identify'>
  }
}

export default domain({
  name: 'members',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  mails: {
    directory: new URL('./mails/', import.meta.url),
    templates: { 'workspace-notice': ['event', 'about', 'workspace', 'actor', 'time', 'advice', 'url'] },
  },
  settings: memberSettings,
  settingsKey: 'access',
  defaults: { payoutHoldMs: 0, workspaces: { maxPerAccount: 100 } },
  profileDefaults: { production: { payoutHoldMs: hours(72) } },
  productionRules: { payoutHoldMs: 'minimum' },
  migrations,
  needs: [
    'accounts',
    'cache',
    'clock',
    'database',
    'ids',
    'mailer',
    'permissions',
    'sessions',
    'signInUrl',
    'transaction',
    'words',
    'workspaces',
  ],
  create: ({ workspaces, permissions, sessions, settings, signInUrl, ...ports }) => {
    const { handlers, events, ...service } = createMembers({
      ...ports,
      permissionTable: permissions.workspace,
      settings: membershipSettings(settings, sessions.stepUpMs),
      lockWorkspace: workspaces.lock,
      hasWorkspace: workspaces.exists,
    })
    const { suspicionWindowMs, maxNoticesPerDay: maxPerDay } = ports.accounts
    const mails = { ...ports, maxPerDay, signInUrl }
    const cleanup = async () => {
      await deleteFormerMemberships(ports.database)
      await deleteGrantsBefore(ports.database, addMs(ports.clock.now(), -suspicionWindowMs))
    }
    return {
      handlers,
      events,
      service,
      jobs: [{ name: 'members.deleteFormer', attempts: 1, everyMs: hours(1), work: cleanup }],
      gatewayJobs: [ownerNoticeJob(mails)],
      onAccountRecovered: (tx, { accountId, at }) =>
        suspendBroughtIn(tx, { accountId, since: addMs(at, -suspicionWindowMs), at }),
    }
  },
})
