import * as z from 'zod'
import {
  type AccountId,
  type AccountStatus,
  accountPortal,
  accountStatus,
  type CodedValue,
  codedFamily,
  type Instant,
  type Locale,
  type Permission,
  type Portal,
  toIso,
  toIsoOrNull,
  type Words,
} from '../kernel/index.ts'
import { bizId, coded, timestamp } from './fields.ts'

/** An account as its owner and operators see it. */
export const Profile = z.object({
  bizId,
  institutionBizId: bizId,
  accountEmail: z.string(),
  accountPhone: z.string(),
  accountName: z.string(),
  accountRemark: z.string().nullable(),
  accountPortal: coded<string>(accountPortal),
  accountStatus: coded(accountStatus),
  createdAt: timestamp,
  updatedAt: timestamp,
  defaultLanguage: z.string(),
  defaultTimezone: z.string(),
  defaultCountry: z.string(),
})

/** An account as operators see it. */
export const Account = Profile.extend({ lastLoginAt: timestamp.nullable() })

/** An account of the SYSTEM portal with its permissions. */
export const Operator = z.object({
  bizId,
  accountEmail: z.string(),
  accountName: z.string(),
  accountStatus: coded(accountStatus),
  permissionCodes: z.array(z.string()),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export interface ProfileRow {
  id: AccountId
  institutionId: string
  email: string
  phone: string
  name: string
  remark: string | null
  portal: Portal
  status: AccountStatus
  createdAt: Instant
  updatedAt: Instant
  language: string
  timezone: string
  country: string
}

export function toProfileView(words: Words, row: ProfileRow, locale: Locale): z.input<typeof Profile> {
  return {
    bizId: row.id,
    institutionBizId: row.institutionId,
    accountEmail: row.email,
    accountPhone: row.phone,
    accountName: row.name,
    accountRemark: row.remark,
    accountPortal: toPortalView(words, row.portal, locale),
    accountStatus: words.coded(accountStatus, row.status, locale),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
    defaultLanguage: row.language,
    defaultTimezone: row.timezone,
    defaultCountry: row.country,
  }
}

/** The configuration may no longer have the portal of a stored record. */
export function toPortalView(words: Words, portal: Portal, locale: Locale): CodedValue {
  const known = words.findCoded(accountPortal, portal, locale)
  return known ?? { code: portal, value: 0, label: portal, description: portal }
}

export function toAccountView(
  words: Words,
  row: ProfileRow & { lastLoginAt: Instant | null },
  locale: Locale,
): z.input<typeof Account> {
  return { ...toProfileView(words, row, locale), lastLoginAt: toIsoOrNull(row.lastLoginAt) }
}

type OperatorRow = Pick<ProfileRow, 'id' | 'email' | 'name' | 'status' | 'createdAt' | 'updatedAt'> & {
  permissions: readonly Permission[]
}

export function toOperatorView(words: Words, row: OperatorRow, locale: Locale): z.input<typeof Operator> {
  return {
    bizId: row.id,
    accountEmail: row.email,
    accountName: row.name,
    accountStatus: words.coded(accountStatus, row.status, locale),
    permissionCodes: [...row.permissions],
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}

/** How money leaves or reaches a workspace. The domain `withdrawalChannels` declares it. */
export const channelType = codedFamily('channelType', { BANK: 10091101, CRYPTO: 10091102, CARD: 10091103 })
