import type { DeploymentPort, DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  addMs,
  assertFound,
  conflict,
  type Ids,
  invalid,
  notFound,
  Refusal,
  type StreamReply,
  type Upload,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { Blobs, DownloadRequest } from '../../platform/blobs/index.ts'
import { addOrphanBlobs, claimBlob, download, readForm, storeContent } from '../../platform/blobs/index.ts'
import { type FilePurpose, filePurpose } from './contract.ts'
import { assertMayUpload, countUpload, subtractFiles } from './quotas.ts'
import type { Quotas } from './rules.ts'
import { type FileRow, fileById, insertFile, markDeleted } from './store.ts'

export interface PurposeRule {
  maxBytes: number
  types: readonly string[]
}

export type PurposeRules = Readonly<Record<FilePurpose, PurposeRule>>

export function servesPurpose(
  { maxBytes, types }: PurposeRule,
  file: { contentType: string; sizeBytes: number },
): boolean {
  return types.includes(file.contentType) && file.sizeBytes <= maxBytes
}

export interface FilePorts {
  database: Database
  transaction: DomainPorts['transaction']
  blobs: Blobs
  ids: Ids
  purposes: PurposeRules
  deployment: Pick<DeploymentPort, 'codesOf'>
  quotas: Quotas
  /** Retention of bytes without a row. */
  orphanAfterMs: number
}

/**
 * Keeps the bytes if the transaction fails, because the commit can have succeeded despite the error. The sweep deletes
 * unreferenced bytes. Throws ACCESS.RATE_LIMITED or FILE.QUOTA_EXCEEDED if a quota is used up.
 */
export async function uploadFile(
  ports: FilePorts,
  { workspaceId, form }: { workspaceId: WorkspaceId; form: Upload },
  auditContext: AuditContext,
): Promise<FileRow> {
  const { accountId, at } = auditContext
  await assertMayUpload(ports.database, { accountId, workspaceId }, ports.quotas, at)
  const blobKey = `files/${ports.ids.next<'blob'>()}`
  await addOrphanBlobs(ports.database, [blobKey], addMs(auditContext.at, ports.orphanAfterMs))
  const file = {
    ...(await receiveUpload(ports, blobKey, form)),
    bizId: ports.ids.next<'file'>(),
    createdAt: auditContext.at,
  }
  try {
    await storeFile(ports, workspaceId, file, auditContext)
  } catch (error) {
    // A quota refused the upload before the commit.
    if (isQuotaRefusal(error)) await ports.blobs.delete(blobKey).catch(() => undefined)
    throw error
  }
  return { ...file, fileStatus: 'AVAILABLE' }
}

export async function findFile(
  store: Database | Tx,
  workspaceId: WorkspaceId,
  fileId: string,
): Promise<FileRow | undefined> {
  const file = await fileById(store, workspaceId, fileId)
  return file?.fileStatus === 'AVAILABLE' ? file : undefined
}

export async function readFile({ database }: FilePorts, workspaceId: WorkspaceId, fileId: string): Promise<FileRow> {
  const file = assertFound(await findFile(database, workspaceId, fileId), 'no such file')
  return file
}

/** The next sweep deletes the bytes. Throws STATE.CONFLICT for a proof, which operators and auditors need. */
export function deleteFile(
  { transaction }: FilePorts,
  workspaceId: WorkspaceId,
  fileId: string,
  auditContext: AuditContext,
): Promise<void> {
  return transaction(async (tx) => {
    const deleted = await markDeleted(tx, workspaceId, fileId)
    if (!deleted) {
      if (await findFile(tx, workspaceId, fileId)) throw conflict('a proof')
      throw notFound('no such file')
    }
    await subtractFiles(tx, workspaceId, [deleted])
    await addOrphanBlobs(tx, [deleted.blobKey], auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId, targetId: fileId, detail: { sizeBytes: deleted.sizeBytes } })
  })
}

/** Supports ranges and conditional requests. */
export async function downloadFile(
  ports: FilePorts,
  workspaceId: WorkspaceId,
  fileId: string,
  request: DownloadRequest,
): Promise<StreamReply> {
  const file = await readFile(ports, workspaceId, fileId)
  return download(ports.blobs, { ...file, key: file.blobKey }, request)
}

/** Stores nothing if the upload is rejected or interrupted. */
async function receiveUpload({ blobs, purposes, deployment }: FilePorts, blobKey: string, form: Upload) {
  const maxBytes = maxBytesOf(purposes)
  let accepts = [...new Set(Object.values(purposes).flatMap(({ types }) => types))]
  let isStored = false
  try {
    const { fields, received } = await readForm(form, { maxBytes, fields: ['purpose'] }, async (part) => {
      const content = await storeContent(blobs, blobKey, part, maxBytes)
      isStored = true
      return content
    })
    const purpose: FilePurpose = parsePurpose(fields.purpose, deployment.codesOf('filePurpose'))
    accepts = [...purposes[purpose].types]
    assertPurpose(purposes[purpose], { size: received.sizeBytes, type: received.contentType })
    return { ...received, purpose }
  } catch (error) {
    // If this deletion fails, the sweep deletes the bytes.
    if (isStored) await blobs.delete(blobKey).catch(() => undefined)
    if (!(error instanceof Refusal) || error.code !== 'VALIDATION.INVALID_PARAMETER') throw error
    throw error.detail.field === 'file' ? new Refusal(error.code, { ...error.detail, accepts }) : error
  }
}

/** In an upload, the purpose can follow the file, so its limit is not yet known. */
function maxBytesOf(rules: PurposeRules): number {
  return Math.max(...Object.values(rules).map((rule) => rule.maxBytes))
}

/** Throws VALIDATION.INVALID_PARAMETER for a purpose of a domain that is off. */
function parsePurpose(text: string | undefined, offered: readonly string[]): FilePurpose {
  const found = filePurpose.codes.find((code) => code === text && offered.includes(code))
  if (!found) throw invalid('purpose')
  return found
}

function assertPurpose({ maxBytes, types }: PurposeRule, file: { size: number; type: string }): void {
  if (!types.includes(file.type)) throw invalid('file', 'the purpose does not allow this type')
  if (file.size > maxBytes) throw new Refusal('REQUEST.TOO_LARGE', { field: 'file', internal: 'file' })
}

function storeFile(
  ports: FilePorts,
  workspaceId: WorkspaceId,
  file: Omit<FileRow, 'fileStatus'>,
  auditContext: AuditContext,
) {
  return ports.transaction(async (tx) => {
    if (!(await claimBlob(tx, file.blobKey)))
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: 1,
        internal: 'the sweep deleted the bytes before a row referenced them',
      })
    const { accountId, at } = auditContext
    await countUpload(tx, { accountId, workspaceId }, file.sizeBytes, ports.quotas, at)
    await insertFile(tx, { ...file, workspaceBizId: workspaceId, createdBy: accountId })
    const { purpose, contentType, sizeBytes } = file
    await recordSuccess(tx, auditContext, {
      workspaceId,
      targetId: file.bizId,
      detail: { purpose, contentType, sizeBytes },
    })
  })
}

function isQuotaRefusal(error: unknown): boolean {
  return error instanceof Refusal && (error.code === 'FILE.QUOTA_EXCEEDED' || error.code === 'ACCESS.RATE_LIMITED')
}
