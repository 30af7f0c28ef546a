import { type Database, inTransaction } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Caller,
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
import { type AccessRules, findDefault, isDefaultEligible, isEnterable } from './rules.ts'
import {
  firstMembershipOf,
  listMembers as listMemberRows,
  type MemberQuery,
  type MemberRow,
  type MembershipRow,
  memberIn,
  membershipIn,
  membershipsOf,
} from './store.ts'

export interface MemberPorts {
  database: Database
  memberships: Memberships
  hasWorkspace(id: WorkspaceId): Promise<boolean>
}

/**
 * Throws if the row is missing, because a membership can end after authorization. The refusal is the one of
 * authorization.
 */
const assertFound = (row: MembershipRow | undefined): MembershipRow => {
  if (row === undefined) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the membership has just ended' })
  return row
}

/** Returns all memberships of an account. `isDefault` marks the one that is used for requests without a workspace. */
export const listMyMemberships = async ({ database }: MemberPorts, accountId: AccountId): Promise<MembershipRow[]> => {
  const all = await membershipsOf(database, accountId)
  const current = findDefault(all)
  return all.map((row) => ({ ...row, isDefault: row === current }))
}

/** Makes a workspace the caller's default. Refuses if the limits of the membership do not allow it. */
export const setDefaultMembership = (
  { database }: MemberPorts,
  workspaceId: WorkspaceId,
  auditContext: AuditContext,
): Promise<MembershipRow> =>
  inTransaction(database, async (tx) => {
    await makeDefault(tx, auditContext.accountId, workspaceId, auditContext.at)
    // Read the membership while it is locked, so that it is still allowed to be the default at the commit.
    const membership = assertFound(await membershipIn(tx, auditContext.accountId, workspaceId))
    if (!isDefaultEligible(membership)) {
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the membership is not eligible as the default' })
    }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: auditContext.accountId })
    return membership
  })

/** Ends the caller's membership. Refuses with WORKSPACE.LAST_OWNER if no owner would remain. */
export const leaveWorkspace = (
  { database, memberships }: MemberPorts,
  workspaceId: WorkspaceId,
  auditContext: AuditContext,
): Promise<void> =>
  inTransaction(database, async (tx) => {
    await memberships.lock(tx, workspaceId)
    await memberships.remove(tx, assertFound(await memberships.find(tx, auditContext.accountId, workspaceId)))
    await recordSuccess(tx, auditContext, { workspaceId, targetId: auditContext.accountId })
  })

/** Returns one page of the members of a workspace. */
export const listMembers = ({ database }: MemberPorts, query: MemberQuery): Promise<Page<MemberRow>> =>
  listMemberRows(database, query)

/** Returns one page of the members of any workspace, for operators. */
export const listMembersOf = async (
  { database, hasWorkspace }: MemberPorts,
  query: MemberQuery,
): Promise<Page<MemberRow>> => {
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

/** Sets or removes the limits of a membership, for operators who do not belong to the workspace. */
export const limitMember = (
  { database, memberships }: MemberPorts,
  { workspaceId, accountId, policyConfig, reason }: MemberLimits,
  auditContext: AuditContext,
): Promise<MemberRow> =>
  inTransaction(database, async (tx) => {
    await memberships.lock(tx, workspaceId)
    // This check keeps the member and other owners of the workspace from removing a limit.
    await memberships.assertOutsider(tx, auditContext.accountId, workspaceId)
    const member = await memberships.find(tx, accountId, workspaceId)
    if (!member) throw notFound('no such member of this workspace')
    await setLimits(tx, member, policyConfig, auditContext.at)
    const detail = { reason, policyConfig: policyConfig && JSON.stringify(policyConfig) }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: accountId, detail })
    return memberIn(tx, workspaceId, accountId)
  })

const denied = (internal: string): Refusal => new Refusal('ACCESS.PERMISSION_DENIED', { internal })

const findByWorkspace = (database: Database, caller: Caller, id: string): Promise<MembershipRow | undefined> =>
  isBizId(id)
    ? membershipIn(database, caller.accountId, bizId<'workspace'>(id) satisfies WorkspaceId)
    : Promise.resolve(undefined)

const readDefault = async (database: Database, caller: Caller): Promise<MembershipRow> => {
  const first = await firstMembershipOf(database, caller.accountId)
  if (first?.isDefault) return first
  const found = first && findDefault(await membershipsOf(database, caller.accountId))
  if (!found) throw new Refusal('ACCESS.WORKSPACE_REQUIRED', { internal: 'no workspace is eligible as the default' })
  return found
}

export interface AccessPorts {
  database: Database
  rules: AccessRules
}

/**
 * Returns a caller's access to a workspace, or to the default one for null. Reads the store on every call; the gateway
 * caches the result (docs/decisions/0008). An unknown, a foreign and a malformed id get the same refusal.
 */
export const enterWorkspace = async (
  { database, rules }: AccessPorts,
  caller: Caller,
  workspaceId: string | null,
): Promise<WorkspaceAccess> => {
  const membership = await (workspaceId === null
    ? readDefault(database, caller)
    : findByWorkspace(database, caller, workspaceId))
  if (!membership) throw denied('not a member of this workspace')
  if (!isEnterable(membership)) throw denied('the membership does not allow entering the workspace')
  return rules.accessOf(membership)
}
