import type { z } from 'zod'
import { type Locale, toIso, toIsoOrNull, type Words, workspaceKind } from '../../kernel/index.ts'
import { joinSource, type Membership } from './contract.ts'
import { isDefaultEligible, isEnterable } from './rules.ts'
import type { MembershipRow, ShownMember } from './store.ts'

export function toMembershipView(words: Words, row: MembershipRow, locale: Locale): z.input<typeof Membership> {
  return {
    ...toSharedFields(words, row, locale),
    workspaceName: row.workspaceName,
    workspaceKind: words.coded(workspaceKind, row.workspaceKind, locale),
    institutionBizId: row.institutionId,
    isDefault: row.isDefault,
  }
}

export function toMemberView(words: Words, row: ShownMember, locale: Locale) {
  return {
    ...toSharedFields(words, row, locale),
    accountName: row.accountName,
    accountEmail: row.accountEmail,
    suspendedAt: toIsoOrNull(row.suspendedAt),
  }
}

function toSharedFields(words: Words, row: Omit<ShownMember, 'accountName' | 'accountEmail'>, locale: Locale) {
  return {
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
  }
}

function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}
