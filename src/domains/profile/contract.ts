import * as z from 'zod'
import { country, language, phone, timezone } from '../../contract/account-fields.ts'
import { bizId, coded, partialUpdate, text, timestamp } from '../../contract/fields.ts'

import { everyPortal, own } from '../../contract/policies.ts'
import { accountPortal, accountStatus, operation } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
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

const ProfileUpdate = partialUpdate({
  accountName: text(128).optional(),
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
  summary: 'The account’s profile',
  body: 'none',
})

export const updateProfile = operation({
  ...common,
  id: 'profile.update',
  method: 'POST',
  path: '/profile/update',
  summary: 'Change the fields of the profile that are given',
  body: ProfileUpdate,
})
