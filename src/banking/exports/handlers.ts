import type { DeploymentPort, SessionsPort } from '../../api/domain.ts'
import { bizId, createHandlerTable, type HandlerTable, invalid, mapPage, type Words } from '../../kernel/index.ts'
import { type Ledger, toListParameters } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import type { ExportType } from './contract.ts'
import * as contract from './contract.ts'
import { createExport, downloadExport, type ExportPorts, listExports, readExport, readExportFile } from './service.ts'
import { toExportView } from './view.ts'

export function createHandlers(
  ports: ExportPorts & {
    createLink: SessionsPort['createLink']
    words: Words
    ledger: Pick<Ledger, 'parseFlowType'>
    deployment: Pick<DeploymentPort, 'codesOf'>
  },
): HandlerTable {
  const { words } = ports
  const offered: ReadonlySet<string> = new Set(ports.deployment.codesOf('exportType'))
  const assertOffered = (type: ExportType | undefined): void => {
    if (type !== undefined && !offered.has(type)) throw invalid('exportType', 'the domain of this list is off')
  }
  return createHandlerTable(contract, {
    listExports: async ({ query, workspace, caller, receivedAt: at, locale }) => {
      const { sortBy, exportType: type, exportStatus: status } = query
      assertOffered(type)
      const viewer = { workspace: workspace.id, account: caller.accountId, at }
      const exports = await listExports(ports, viewer, { ...toListParameters(query), sortBy, type, status })
      return mapPage(exports, (row) => toExportView(words, row, locale))
    },
    createExport: async (request) => {
      const { body } = request
      const { exportType, format, filters = {} } = body
      assertOffered(exportType)
      if (body.exportType === 'FLOWS' && body.filters?.flowType !== undefined)
        ports.ledger.parseFlowType(body.filters.flowType, 'filters.flowType')
      const context = { auditContext: auditContextOf(request), access: request.workspace }
      return toExportView(words, await createExport(ports, { exportType, format, filters }, context), request.locale)
    },
    readExport: async ({ params, workspace, caller, receivedAt: at, locale }) => {
      const viewer = { workspace: workspace.id, account: caller.accountId, at }
      return toExportView(words, await readExport(ports, viewer, bizId(params.export_id)), locale)
    },
    linkExport: async (request) => {
      const id = bizId<'export'>(request.params.export_id)
      await readExportFile(ports, id, { auditContext: auditContextOf(request), access: request.workspace })
      return ports.createLink(request, contract.downloadExport, { export_id: id })
    },
    downloadExport: (request) => {
      const context = { auditContext: auditContextOf(request), access: request.workspace }
      return downloadExport(ports, bizId(request.params.export_id), context, request)
    },
  })
}
