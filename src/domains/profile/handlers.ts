import type { z } from 'zod'
import {
  accountPortal,
  accountStatus,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  toIso,
  type Words,
} from '../../kernel/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import type { Profile } from './contract.ts'
import * as contract from './contract.ts'
import { type ProfilePorts, readProfile, updateProfile } from './service.ts'
import type { ProfileRow } from './store.ts'

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

export const createHandlers = (ports: ProfilePorts & { words: Words }): HandlerTable => {
  const { words } = ports
  return createHandlerTable(contract, {
    readProfile: async ({ caller, locale }) => toProfileView(words, await readProfile(ports, caller.accountId), locale),
    updateProfile: async (request) => {
      const { accountName, accountPhone, defaultLanguage, defaultTimezone, defaultCountry } = request.body
      const changes = {
        name: accountName,
        phone: accountPhone,
        language: defaultLanguage,
        timezone: defaultTimezone,
        country: defaultCountry,
      }
      return toProfileView(words, await updateProfile(ports, changes, actOf(request)), request.locale)
    },
  })
}
