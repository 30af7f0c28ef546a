import type { z } from 'zod'
import { accountPortal, accountStatus, type Locale, toIso, type Words } from '../../kernel/index.ts'
import type { Profile } from './contract.ts'
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
