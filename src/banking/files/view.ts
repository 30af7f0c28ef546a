import { type Locale, toIso, type Words } from '../../kernel/index.ts'
import { filePurpose, fileStatus } from './contract.ts'
import type { FileRow } from './store.ts'

export function toFileView(words: Words, file: FileRow, locale: Locale) {
  return {
    bizId: file.bizId,
    fileName: file.fileName,
    contentType: file.contentType,
    sizeBytes: file.sizeBytes,
    sha256: file.sha256,
    purpose: words.coded(filePurpose, file.purpose, locale),
    fileStatus: words.coded(fileStatus, file.fileStatus, locale),
    createdAt: toIso(file.createdAt),
  }
}
