import ipaddr from 'ipaddr.js'
import { portalIn } from '../../contract/fields.ts'
import { toAccountView } from '../../contract/shared-schemas.ts'
import type { Database } from '../../database/index.ts'
import { bizId, createHandlerTable, type HandlerTable, mapPage, type Request, type Words } from '../../kernel/index.ts'
import { toListParameters } from '../../ledger/index.ts'
import { type AuditVerifier, auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { LedgerCheck, type LedgerPorts, listOrderPostings } from './ledger-check.ts'
import type { AccountCommand } from './rules.ts'
import {
  type AccountCommandPorts,
  type AccountPorts,
  changeAccountStatus,
  listAccounts,
  readAccount,
  terminateSessions,
} from './service.ts'
import { listAuditLog } from './store.ts'
import { toAuditView, toInvariantsView, toPostingView, toVerificationView } from './view.ts'

type StatusRequest =
  | Request<typeof contract.approveAccount>
  | Request<typeof contract.rejectAccount>
  | Request<typeof contract.suspendAccount>
  | Request<typeof contract.reactivateAccount>

export function createHandlers(ports: AccountPorts & AccountCommandPorts & LedgerPorts & AuditPorts): HandlerTable {
  return new Map([...createAccountHandlers(ports), ...createLedgerHandlers(ports), ...createAuditHandlers(ports)])
}

export function createLedgerHandlers(ports: LedgerPorts): HandlerTable {
  const check = new LedgerCheck(ports)
  return createHandlerTable(contract, {
    checkLedgerInvariants: async () => toInvariantsView(await check.run()),
    listOrderPostings: async ({ params }) => {
      const id = bizId<'order'>(params.order_id)
      const { orderType, postings } = await listOrderPostings(ports, id)
      return postings.map((posting) => toPostingView(posting, id, orderType))
    },
  })
}

export interface AuditPorts {
  database: Database
  words: Words
  verifier: AuditVerifier
}

export function createAuditHandlers({ database, words, verifier }: AuditPorts): HandlerTable {
  return createHandlerTable(contract, {
    listAuditLog: async ({ query, locale }) => {
      const { startTime: _, endTime: __, clientIp, ...filters } = query
      // As the entries have it: the shortest form, and IPv4-mapped IPv6 as IPv4.
      const address = clientIp && ipaddr.process(clientIp).toString()
      const entries = await listAuditLog(database, { ...filters, clientIp: address, ...toListParameters(query) })
      return mapPage(entries, (row) => toAuditView(words, row, locale))
    },
    verifyAuditLog: async ({ query }) => {
      if (query.head === undefined) return toVerificationView(await verifier.verify(query.scope), null)
      const { verification, place } = await verifier.verifyHead(query.head, query.scope)
      return toVerificationView(verification, place)
    },
  })
}

function createAccountHandlers(ports: AccountPorts & AccountCommandPorts): HandlerTable {
  const { words } = ports

  const changeStatus = async (request: StatusRequest, command: AccountCommand) => {
    const reason = request.body?.reason ?? null
    const input = { id: bizId<'account'>(request.params.account_id), command, reason }
    return toAccountView(words, await changeAccountStatus(ports, input, auditContextOf(request)), request.locale)
  }

  return createHandlerTable(contract, {
    listAccounts: async ({ query, locale }) => {
      const { sortBy, accountStatus: status, accountPortal, accountEmail: email } = query
      const portal = accountPortal === undefined ? undefined : portalIn(ports.portals, accountPortal)
      const accounts = await listAccounts(ports, { ...toListParameters(query), sortBy, status, portal, email })
      return mapPage(accounts, (row) => toAccountView(words, row, locale))
    },
    readAccount: async ({ params, locale }) =>
      toAccountView(words, await readAccount(ports, bizId(params.account_id)), locale),
    approveAccount: (request) => changeStatus(request, 'approve'),
    rejectAccount: (request) => changeStatus(request, 'reject'),
    suspendAccount: (request) => changeStatus(request, 'suspend'),
    reactivateAccount: (request) => changeStatus(request, 'reactivate'),
    terminateAccountSessions: async (request) => {
      const id = bizId<'account'>(request.params.account_id)
      const { ended, suspended } = await terminateSessions(ports, { id, reason: null }, auditContextOf(request))
      return { success: true, terminatedSessions: ended, suspendedCredentials: suspended }
    },
  })
}
