import type { SessionsPort } from '../../api/domain.ts'
import { bizId, createHandlerTable, type HandlerTable, type Words } from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { deleteFile, downloadFile, type FilePorts, readFile, uploadFile } from './service.ts'
import { toFileView } from './view.ts'

export function createHandlers(ports: FilePorts & Pick<SessionsPort, 'createLink'> & { words: Words }): HandlerTable {
  const { words } = ports
  return createHandlerTable(contract, {
    uploadFile: async (request) => {
      const input = { workspaceId: request.workspace.id, form: request.upload }
      return toFileView(words, await uploadFile(ports, input, auditContextOf(request)), request.locale)
    },
    deleteFile: async (request) => {
      await deleteFile(ports, request.workspace.id, bizId(request.params.file_id), auditContextOf(request))
      return null
    },
    readFile: async ({ params, workspace, locale }) =>
      toFileView(words, await readFile(ports, workspace.id, bizId(params.file_id)), locale),
    linkFile: async (request) => {
      const { params, workspace } = request
      const { bizId: file_id } = await readFile(ports, workspace.id, bizId(params.file_id))
      return ports.createLink(request, contract.downloadFile, { file_id })
    },
    downloadFile: (request) => downloadFile(ports, request.workspace.id, bizId(request.params.file_id), request),
  })
}
