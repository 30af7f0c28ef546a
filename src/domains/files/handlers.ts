import { bizId, createHandlerTable, type HandlerTable, type Locale, toIso, type Words } from '../../kernel/index.ts'

import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { filePurpose, fileStatus } from './contract.ts'
import { type FilePorts, open, read, upload } from './service.ts'
import type { FileRow } from './store.ts'

export const fileHandlers = (ports: FilePorts, words: Words): HandlerTable => {
  const render = (file: FileRow, locale: Locale) => ({
    bizId: file.id,
    fileName: file.fileName,
    contentType: file.contentType,
    sizeBytes: file.sizeBytes,
    sha256: file.sha256,
    purpose: words.coded(filePurpose, file.purpose, locale),
    fileStatus: words.coded(fileStatus, file.status, locale),
    createdAt: toIso(file.createdAt),
  })
  return createHandlerTable(contract, {
    uploadFile: async (request) =>
      render(await upload(ports, actOf(request), request.workspace.id, request.upload), request.locale),
    readFile: async ({ params, workspace, locale }) =>
      render(await read(ports, workspace.id, bizId(params.file_id)), locale),
    downloadFile: (request) => open(ports, request.workspace.id, bizId(request.params.file_id), request),
  })
}
