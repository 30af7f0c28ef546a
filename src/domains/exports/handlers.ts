import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Locale,
  mapPage,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { exportFormat, exportStatus, exportType } from './contract.ts'
import { create, type ExportPorts, open, read } from './service.ts'
import { type ExportRow, listExports } from './store.ts'

export const exportHandlers = (ports: ExportPorts, words: Words): HandlerTable => {
  const render = (row: ExportRow, locale: Locale) => ({
    bizId: row.id,
    exportType: words.coded(exportType, row.type, locale),
    format: words.coded(exportFormat, row.format, locale),
    exportStatus: words.coded(exportStatus, row.status, locale),
    fileName: row.fileName,
    rowCount: row.rowCount,
    sizeBytes: row.sizeBytes,
    failureCode: row.failureCode,
    createdAt: toIso(row.createdAt),
    completedAt: toIsoOrNull(row.completedAt),
    expiresAt: toIsoOrNull(row.expiresAt),
  })
  return createHandlerTable(contract, {
    listExports: async ({ query, workspace, caller, receivedAt: at, locale }) => {
      const { sortBy, exportType: type, exportStatus: status } = query
      const viewer = { workspace: workspace.id, account: caller.accountId, at }
      const found = await listExports(ports.database, viewer, { ...listing(query), sortBy, type, status })
      return mapPage(found, (row) => render(row, locale))
    },
    createExport: async (request) => {
      const { exportType: type, format, filters = {} } = request.body
      return render(await create(ports, actOf(request), request.workspace, { type, format, filters }), request.locale)
    },
    readExport: async ({ params, workspace, caller, receivedAt: at, locale }) => {
      const viewer = { workspace: workspace.id, account: caller.accountId, at }
      return render(await read(ports, viewer, bizId(params.export_id)), locale)
    },
    downloadExport: (request) =>
      open(ports, actOf(request), request.workspace, bizId(request.params.export_id), request),
  })
}
