import { country, language, phone, timezone } from '../../contract/account-fields.ts'
import { line, partialUpdate } from '../../contract/fields.ts'
import { everyPortal, own } from '../../contract/policies.ts'
import { Profile } from '../../contract/shared-schemas.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'The profile of the signed-in account.'

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
