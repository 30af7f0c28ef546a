import {
  accountPortal,
  accountStatus,
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  type Request,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'

import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import { type AccountPorts, change, read, terminateSessions } from './accounts.ts'
import { type AccountRow, listAccounts } from './accounts-store.ts'
import * as contract from './contract.ts'
import type { accountChanges } from './rules.ts'

type Deciding = Request<typeof contract.approveAccount> | Request<typeof contract.rejectAccount>

const renderer = (words: Words) => (row: AccountRow, locale: Locale) => ({
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
  lastLoginAt: toIsoOrNull(row.lastLoginAt),
})

export const accountHandlers = (ports: AccountPorts, words: Words): HandlerTable => {
  const render = renderer(words)
  const deciding = async (request: Deciding, step: keyof typeof accountChanges, reason: string | null) =>
    render(await change(ports, actOf(request), bizId(request.params.account_id), step, reason), request.locale)
  return createHandlerTable(contract, {
    listAccounts: async ({ query, locale }) => {
      const { sortBy, accountStatus: status, accountPortal: portal, accountEmail: email } = query
      const found = await listAccounts(ports.database, { ...listing(query), sortBy, status, portal, email })
      return mapPage(found, (row) => render(row, locale))
    },
    readAccount: async ({ params, locale }) => render(await read(ports, bizId(params.account_id)), locale),
    approveAccount: (request) => deciding(request, 'approve', null),
    rejectAccount: (request) => deciding(request, 'reject', request.body.reason),
    suspendAccount: (request) => deciding(request, 'suspend', request.body.reason),
    reactivateAccount: (request) => deciding(request, 'reactivate', null),
    terminateAccountSessions: async (request) => ({
      success: true,
      terminatedSessions: await terminateSessions(ports, actOf(request), bizId(request.params.account_id)),
    }),
  })
}
