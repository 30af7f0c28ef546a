import { toProfileView } from '../../contract/shared-schemas.ts'
import { createHandlerTable, type HandlerTable, type Words } from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { type ProfilePorts, readProfile, updateProfile } from './service.ts'

export function createHandlers(ports: ProfilePorts & { words: Words }): HandlerTable {
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
      return toProfileView(words, await updateProfile(ports, changes, auditContextOf(request)), request.locale)
    },
  })
}
