import { type Locale, toIso, type Words, workspaceKind, workspaceStatus } from '../../kernel/index.ts'
import { joinSource } from './contract.ts'

import type { MembershipRow } from './membership-store.ts'
import { isDefaultEligible, isEnterable } from './rules.ts'
import type { WorkspaceRow } from './store.ts'

/** What a column of JSON holds, where that is an object. */
const recordIn = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null ? { ...value } : null

/** What is told of a workspace to its members and to operators. */
export const tellWorkspace = (words: Words, row: WorkspaceRow, locale: Locale) => ({
  bizId: row.id,
  institutionBizId: row.institutionId,
  entityBizId: row.entityId,
  workspaceName: row.name,
  workspaceTimezone: row.timezone,
  workspaceStatus: words.coded(workspaceStatus, row.status, locale),
  workspaceKind: words.coded(workspaceKind, row.kind, locale),
  extraData: recordIn(row.extraData),
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})

/** What is told of a membership to its member and to others. */
export const tellMembership = (words: Words, row: MembershipRow, locale: Locale) => ({
  userBizId: row.accountId,
  workspaceBizId: row.workspaceId,
  workspaceRoleBizId: row.roleId,
  workspaceRoleName: row.roleName,
  joinSource: words.coded(joinSource, row.joinSource, locale),
  isOwner: row.roleType === 'OWNER',
  enterable: isEnterable(row),
  defaultEligible: isDefaultEligible(row),
  policyConfig: recordIn(row.policyConfig),
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})
