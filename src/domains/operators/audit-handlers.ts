import type { Database } from '../../database/index.ts'
import {
  accountPortal,
  auditOutcome,
  type Clock,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  toIso,
  type Words,
} from '../../kernel/index.ts'
import { listing } from '../../ledger/index.ts'
import { verifyAuditLog } from '../../platform/audit/index.ts'
import { type AuditRow, listAuditLog } from './audit-store.ts'
import * as contract from './contract.ts'

const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString('hex'))

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

export const auditHandlers = (database: Database, clock: Clock, words: Words): HandlerTable => {
  const render = (row: AuditRow, locale: Locale) => ({
    bizId: row.id,
    sequence: row.sequence,
    at: toIso(row.at),
    portal: words.coded(accountPortal, row.portal, locale),
    actorBizId: row.actorId,
    workspaceBizId: row.workspaceId,
    action: row.action,
    targetBizId: row.targetId,
    outcome: words.coded(auditOutcome, row.outcome, locale),
    requestId: row.requestId,
    clientIp: row.clientIp,
    detail: record(row.detail),
    previousHash: hex(row.previousHash),
    hash: hex(row.hash),
  })
  return createHandlerTable(contract, {
    listAuditLog: async ({ query, locale }) => {
      const { actorId, workspaceId, action, targetId, outcome } = query
      const asked = { ...listing(query), actorId, workspaceId, action, targetId, outcome }
      return mapPage(await listAuditLog(database, asked), (row) => render(row, locale))
    },
    verifyAuditLog: async () => {
      const checkedAt = toIso(clock.now())
      const { entriesChecked, broken } = await verifyAuditLog(database)
      return { intact: broken === null, entriesChecked, firstBrokenSequence: broken?.sequence ?? null, checkedAt }
    },
  })
}
