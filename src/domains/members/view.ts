import type { z } from 'zod'
import { type Locale, toIso, type Words, workspaceKind } from '../../kernel/index.ts'
import { joinSource, type Membership } from './contract.ts'
import { isDefaultEligible, isEnterable } from './rules.ts'
import type { MemberRow, MembershipRow } from './store.ts'

/** The value of a JSON column if it is an object, else null. */
const toRecord = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null ? { ...value } : null

const toSharedFields = (words: Words, row: MembershipRow, locale: Locale) => ({
  userBizId: row.accountId,
  workspaceBizId: row.workspaceId,
  workspaceRoleBizId: row.roleId,
  workspaceRoleName: row.roleName,
  joinSource: words.coded(joinSource, row.joinSource, locale),
  isOwner: row.roleType === 'OWNER',
  enterable: isEnterable(row),
  defaultEligible: isDefaultEligible(row),
  policyConfig: toRecord(row.policyConfig),
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})

/** A membership for its own member. */
export const toMembershipView = (words: Words, row: MembershipRow, locale: Locale): z.input<typeof Membership> => ({
  ...toSharedFields(words, row, locale),
  workspaceName: row.workspaceName,
  workspaceKind: words.coded(workspaceKind, row.workspaceKind, locale),
  institutionBizId: row.institutionId,
  isDefault: row.isDefault,
})

/** A membership for others: fellow members and operators. */
export const toMemberView = (words: Words, row: MemberRow, locale: Locale) => ({
  ...toSharedFields(words, row, locale),
  accountName: row.accountName,
  accountEmail: row.accountEmail,
})
