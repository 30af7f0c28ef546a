import type { DomainPorts } from '../../api/domain.ts'
import type { Database } from '../../database/index.ts'
import {
  assertAllowed,
  assertFound,
  conflict,
  type Ids,
  type Page,
  type Permission,
  type StreamReply,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type Blobs, type Downloadable, type DownloadRequest, download } from '../../platform/blobs/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'
import type { ExportFormat, ExportType } from './contract.ts'
import { formats } from './formats.ts'
import {
  type ExportQuery,
  type ExportRow,
  exportById,
  insertExport,
  listExports as listExportRows,
  type Viewer,
} from './store.ts'

/** The caller's own login history requires no permission. */
const listPermissions: Record<ExportType, Permission | null> = {
  FLOWS: 'wallet:read',
  TRANSFERS: 'transfer:read',
  EXCHANGES: 'exchange:read',
  RECHARGES: 'recharge:read',
  WITHDRAWALS: 'withdrawal:read',
  LOGIN_HISTORY: null,
}

/** Called when an export is created and when it is downloaded. */
export function assertListPermission(type: ExportType, access: WorkspaceAccess): void {
  const required = listPermissions[type]
  if (required !== null)
    assertAllowed(access, ({ permissions }) => permissions.has(required), `the caller lacks ${required}`)
}

export interface ExportPorts {
  database: Database
  transaction: DomainPorts['transaction']
  blobs: Blobs
  ids: Ids
}

export const exportJobName = 'exports.run'

export interface CreateExportInput {
  exportType: ExportType
  format: ExportFormat
  filters: object
}

export interface ExportContext {
  auditContext: AuditContext
  access: WorkspaceAccess
}

export async function createExport(
  { transaction, ids }: ExportPorts,
  input: CreateExportInput,
  { auditContext, access }: ExportContext,
): Promise<ExportRow> {
  assertListPermission(input.exportType, access)
  return transaction(async (tx) => {
    const id = ids.next<'export'>()
    const workspaceId = access.id
    const created = await insertExport(tx, {
      ...input,
      bizId: id,
      workspaceBizId: workspaceId,
      createdBy: auditContext.accountId,
      createdAt: auditContext.at,
    })
    await enqueueJob(tx, ids, { kind: exportJobName, payload: { workspaceId, exportId: id }, at: auditContext.at })
    const detail = { exportType: input.exportType, format: input.format }
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail })
    return created
  })
}

export function listExports({ database }: ExportPorts, viewer: Viewer, query: ExportQuery): Promise<Page<ExportRow>> {
  return listExportRows(database, viewer, query)
}

export async function readExport(
  { database }: Pick<ExportPorts, 'database'>,
  viewer: Viewer,
  id: string,
): Promise<ExportRow> {
  const found = assertFound(await exportById(database, viewer, id), 'no such export')
  return found
}

/** Throws STATE.CONFLICT if the export is not completed. */
export async function readExportFile(
  ports: Pick<ExportPorts, 'database'>,
  id: string,
  { auditContext: { accountId: account, at }, access }: ExportContext,
): Promise<Downloadable> {
  const found = await readExport(ports, { workspace: access.id, account, at }, id)
  assertListPermission(found.exportType, access)
  const { exportStatus: status, blobKey: key, fileName, sizeBytes, sha256 } = found
  if (status !== 'COMPLETED' || key === null || fileName === null || sizeBytes === null || sha256 === null)
    throw conflict(`the export is ${status}`)
  return { key, fileName, contentType: formats[found.format].contentType, sizeBytes, sha256 }
}

/** Writes an audit entry. Throws STATE.CONFLICT if the export is not completed. */
export async function downloadExport(
  ports: ExportPorts,
  id: string,
  context: ExportContext,
  request: DownloadRequest,
): Promise<StreamReply> {
  const { auditContext, access } = context
  const file = await readExportFile(ports, id, context)
  if (!request.headOnly)
    await ports.transaction((tx) => recordSuccess(tx, auditContext, { workspaceId: access.id, targetId: id }))
  return download(ports.blobs, file, request)
}
