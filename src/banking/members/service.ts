import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNotices } from '../../api/notices.ts'
import type { Database } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  assertSteppedUp,
  BatchLoader,
  bizId,
  type Caller,
  denied,
  isBizId,
  notFound,
  type Page,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { makeDefault, type PolicyConfig, setLimits } from './membership-store.ts'
import type { Memberships } from './memberships.ts'
import { type AccessRules, findDefault, isDefaultEligible, isEnterable, withhold } from './rules.ts'
import {
  firstMembershipOf,
  listMembers as listMemberRows,
  type MemberQuery,
  type MemberRow,
  type MembershipKey,
  type MembershipRow,
  memberIn,
  membershipIn,
  membershipsOf,
  readMemberships,
} from './store.ts'

export interface MemberPorts {
  database: Database
  transaction: DomainPorts['transaction']
  memberships: Memberships
  notices: OwnerNotices
  settings: { stepUpMs: number }
  hasWorkspace(id: WorkspaceId): Promise<boolean>
}

/** Throws the same refusal as authorization, after which a membership can end. */
/** Marks the membership for requests without a workspace as the default. */
export async function listMyMemberships({ database }: MemberPorts, accountId: AccountId): Promise<MembershipRow[]> {
  const all = await membershipsOf(database, accountId)
  const current = findDefault(all)
  return all.map((row) => ({ ...row, isDefault: row === current }))
}

/** Throws if the membership cannot be the default. */
export function setDefaultMembership(
  { transaction }: MemberPorts,
  workspaceId: WorkspaceId,
  auditContext: AuditContext,
): Promise<MembershipRow> {
  return transaction(async (tx) => {
    await makeDefault(tx, auditContext.accountId, workspaceId, auditContext.at)
    // The lock prevents a change of the limits before the commit.
    const found = await membershipIn(tx, auditContext.accountId, workspaceId)
    const membership = assertFound(found, 'the membership has just ended', denied)
    if (!isDefaultEligible(membership)) {
      throw denied('the membership is not eligible as the default')
    }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: auditContext.accountId })
    return membership
  })
}

/**
 * Throws WORKSPACE.LAST_OWNER if no owner would remain, and ACCESS.STEP_UP_REQUIRED if an owner leaves without a
 * step-up: a stolen session must not give the workspace to the other owners.
 */
export function leaveWorkspace(
  { transaction, memberships, notices, settings }: MemberPorts,
  workspaceId: WorkspaceId,
  caller: Caller,
  auditContext: AuditContext,
): Promise<void> {
  return transaction(async (tx) => {
    await memberships.lock(tx, workspaceId)
    const { accountId, at } = auditContext
    const found = await memberships.find(tx, accountId, workspaceId)
    const member = assertFound(found, 'the membership has just ended', denied)
    if (member.roleType === 'OWNER') assertSteppedUp(caller, at, settings.stepUpMs)
    await memberships.remove(tx, member)
    if (member.roleType === 'OWNER')
      await notices.queue(tx, { kind: 'OWNER_REMOVED', workspaceId, actorId: accountId, memberId: accountId, at })
    await recordSuccess(tx, auditContext, { workspaceId, targetId: auditContext.accountId })
  })
}

export function listMembers({ database }: MemberPorts, query: MemberQuery): Promise<Page<MemberRow>> {
  return listMemberRows(database, query)
}

/** For operators: does not require a membership. */
export async function listMembersOf(
  { database, hasWorkspace }: MemberPorts,
  query: MemberQuery,
): Promise<Page<MemberRow>> {
  if (!(await hasWorkspace(query.workspaceId))) throw notFound('no such workspace')
  return listMemberRows(database, query)
}

export interface MemberLimits {
  workspaceId: WorkspaceId
  accountId: AccountId
  /** Null removes all limits. */
  policyConfig: PolicyConfig | null
  reason: string
}

/** Owners learn of new limits of an owner: operators can make another account an owner afterwards. */
export function limitMember(
  { transaction, memberships, notices }: MemberPorts,
  { workspaceId, accountId, policyConfig, reason }: MemberLimits,
  auditContext: AuditContext,
): Promise<MemberRow> {
  return transaction(async (tx) => {
    await memberships.lock(tx, workspaceId)
    // Without this check, operators could remove their own limits.
    await memberships.assertOutsider(tx, auditContext.accountId, workspaceId)
    const { at } = auditContext
    const member = assertFound(await memberships.find(tx, accountId, workspaceId), 'no such member of this workspace')
    await setLimits(tx, member, policyConfig, at)
    if (member.roleType === 'OWNER')
      await notices.queue(tx, { kind: 'OWNER_LIMITED', workspaceId, actorId: null, memberId: accountId, at })
    const detail = { reason, policyConfig: policyConfig && JSON.stringify(policyConfig) }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: accountId, detail })
    return memberIn(tx, workspaceId, accountId)
  })
}

/** Does not require that the caller can enter. Uses the same refusal as entering. */
export async function identifyWorkspace(
  database: Database,
  caller: Caller,
  workspaceId: string,
): Promise<WorkspaceAccess> {
  const membership = await findByWorkspace(database, caller, workspaceId)
  if (!membership) throw denied('not a member of this workspace')
  return { id: membership.workspaceId, isOwner: false, permissions: new Set() }
}

export interface AccessPorts {
  database: Database
  rules: AccessRules
}

/**
 * A null id selects the default workspace. Reads the store on every call; the gateway caches the result
 * (docs/decisions/0008-cached-access.md). An unknown id, a malformed id and the id of another workspace get the same
 * refusal.
 */
export async function enterWorkspace(
  { database, rules }: AccessPorts,
  caller: Caller,
  workspaceId: string | null,
): Promise<WorkspaceAccess> {
  const membership = await (workspaceId === null
    ? readDefault(database, caller)
    : findByWorkspace(database, caller, workspaceId))
  return accessOf(rules, membership, caller)
}

/** Like `enterWorkspace`, for open streams: the look-ups of one moment share a statement. */
export class StreamAccess {
  readonly #rules: AccessRules
  readonly #memberships: BatchLoader<MembershipKey, MembershipRow>

  constructor({ database, rules }: AccessPorts) {
    this.#rules = rules
    this.#memberships = new BatchLoader(nameOf, async (keys) => {
      const rows = await readMemberships(database, keys)
      return new Map(rows.map((row) => [nameOf(row), row]))
    })
  }

  async enter(caller: Caller, workspaceId: WorkspaceId): Promise<WorkspaceAccess> {
    const { accountId } = caller
    return accessOf(this.#rules, await this.#memberships.load({ accountId, workspaceId }), caller)
  }
}

function nameOf({ accountId, workspaceId }: MembershipKey): string {
  return `${accountId} ${workspaceId}`
}

function accessOf(rules: AccessRules, membership: MembershipRow | undefined, caller: Caller): WorkspaceAccess {
  if (!membership) throw denied('not a member of this workspace')
  if (!isEnterable(membership)) throw denied('the membership does not allow entering the workspace')
  return withhold(rules.accessOf(membership), caller)
}

function findByWorkspace(database: Database, caller: Caller, id: string): Promise<MembershipRow | undefined> {
  return isBizId(id)
    ? membershipIn(database, caller.accountId, bizId<'workspace'>(id) satisfies WorkspaceId)
    : Promise.resolve(undefined)
}

async function readDefault(database: Database, caller: Caller): Promise<MembershipRow> {
  const first = await firstMembershipOf(database, caller.accountId)
  if (first?.isDefault) return first
  const found = first && findDefault(await membershipsOf(database, caller.accountId))
  if (!found) throw new Refusal('ACCESS.WORKSPACE_REQUIRED', { internal: 'no workspace is eligible as the default' })
  return found
}
