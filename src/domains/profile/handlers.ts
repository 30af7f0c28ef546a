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
import * as contract from './contract.ts'
import type { ProfileService } from './service.ts'
import type { ProfileRow } from './store.ts'

const profileReply = (words: Words, row: ProfileRow, locale: Locale): z.input<typeof contract.Profile> => ({
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

export const createHandlers = (service: ProfileService, words: Words): HandlerTable =>
  createHandlerTable(contract, {
    readProfile: async ({ caller, locale }) => profileReply(words, await service.read(caller.accountId), locale),
    updateProfile: async (request) => {
      const { accountName, accountPhone, defaultLanguage, defaultTimezone, defaultCountry } = request.body
      const changed = await service.update(actOf(request), {
        name: accountName,
        phone: accountPhone,
        language: defaultLanguage,
        timezone: defaultTimezone,
        country: defaultCountry,
      })
      return profileReply(words, changed, request.locale)
    },
  })
