import * as z from 'zod'
import { country, language, phone, timezone } from '../../contract/account-fields.ts'
import { bizId, coded, line, partialUpdate, timestamp } from '../../contract/fields.ts'

import { everyPortal, own } from '../../contract/policies.ts'
import {
  type AccountId,
  type AccountStatus,
  accountPortal,
  accountStatus,
  type Instant,
  type Locale,
  operation,
  type Portal,
  toIso,
  type Words,
} from '../../kernel/index.ts'

export const summary = 'The profile of the signed-in account.'

export const Profile = z.object({
  bizId,
  institutionBizId: bizId,
  accountEmail: z.string(),
  accountPhone: z.string(),
  accountName: z.string(),
  accountRemark: z.string().nullable(),
  accountPortal: coded(accountPortal),
  accountStatus: coded(accountStatus),
  createdAt: timestamp,
  updatedAt: timestamp,
  defaultLanguage: z.string(),
  defaultTimezone: z.string(),
  defaultCountry: z.string(),
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

export const toProfileView = (words: Words, row: ProfileRow, locale: Locale): z.input<typeof Profile> => ({
  bizId: row.id,
  institutionBizId: row.institutionId,
  accountEmail: row.email,
  accountPhone: row.phone,
  accountName: row.name,
  accountRemark: row.remark,
  accountPortal: words.coded(accountPortal, row.portal, locale),
  accountStatus: words.coded(accountStatus, row.status, locale),
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
  defaultLanguage: row.language,
  defaultTimezone: row.timezone,
  defaultCountry: row.country,
})

const ProfileUpdate = partialUpdate({
  accountName: line(128).optional(),
  accountPhone: phone.optional(),
  defaultLanguage: language.optional(),
  defaultTimezone: timezone.optional(),
  defaultCountry: country.optional(),
})

const common = { chains: everyPortal, policy: own, reply: Profile, refuses: [] } as const

export const readProfile = operation({
  ...common,
  id: 'profile.read',
  method: 'GET',
  path: '/profile',
  summary: 'Read the caller’s profile',
  body: 'none',
})

export const updateProfile = operation({
  ...common,
  id: 'profile.update',
  method: 'POST',
  path: '/profile/update',
  summary: 'Update fields of the caller’s profile',
  body: ProfileUpdate,
})
