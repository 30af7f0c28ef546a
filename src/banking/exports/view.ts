import { type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { exportFormat, exportStatus, exportType } from './contract.ts'
import type { ExportRow } from './store.ts'

export function toExportView(words: Words, row: ExportRow, locale: Locale) {
  return {
    bizId: row.bizId,
    exportType: words.coded(exportType, row.exportType, locale),
    format: words.coded(exportFormat, row.format, locale),
    exportStatus: words.coded(exportStatus, row.exportStatus, locale),
    fileName: row.fileName,
    rowCount: row.rowCount,
    sizeBytes: row.sizeBytes,
    failureCode: row.failureCode,
    createdAt: toIso(row.createdAt),
    completedAt: toIsoOrNull(row.completedAt),
    expiresAt: toIsoOrNull(row.expiresAt),
  }
}
