import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  addMs,
  type Ids,
  invalid,
  notFound,
  Refusal,
  type RequestContext,
  type StreamReply,
  type Upload,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { addOrphanBlobs, type Blobs, claimBlob, download } from '../../platform/blobs/index.ts'
import { storeContent } from './content.ts'
import { type FilePurpose, filePurpose } from './contract.ts'
import { readForm, tooLarge } from './multipart-form.ts'
import { type FileRow, fileById, insertFile } from './store.ts'

/** The allowed size and media types of files for a purpose. */
export interface PurposeRule {
  maxBytes: number
  types: readonly string[]
}

export type PurposeRules = Readonly<Record<FilePurpose, PurposeRule>>

/** Parses a purpose. Refuses any other text. */
const parsePurpose = (text: string | undefined): FilePurpose => {
  const found = filePurpose.codes.find((code) => code === text)
  if (!found) throw invalid('purpose')
  return found
}

/** Refuses a file whose type or size the purpose does not allow. */
const assertPurpose = ({ maxBytes, types }: PurposeRule, file: { size: number; type: string }): void => {
  if (!types.includes(file.type)) throw invalid('file', 'the purpose does not allow this type')
  if (file.size > maxBytes) throw tooLarge()
}

/** Whether the type and size of a stored file are valid for a purpose. */
export const servesPurpose = (
  { maxBytes, types }: PurposeRule,
  file: { contentType: string; sizeBytes: number },
): boolean => types.includes(file.contentType) && file.sizeBytes <= maxBytes

/** Returns the maximum size over all purposes. An upload can send its purpose after the file. */
const maxBytesOf = (rules: PurposeRules): number => Math.max(...Object.values(rules).map((rule) => rule.maxBytes))

export interface FilePorts {
  database: Database
  blobs: Blobs
  ids: Ids
  purposes: PurposeRules
  /** Retention of bytes without a row, in milliseconds. */
  orphanAfterMs: number
}

const storeFile = (
  ports: FilePorts,
  workspaceId: WorkspaceId,
  file: Omit<FileRow, 'status'>,
  auditContext: AuditContext,
) =>
  inTransaction(ports.database, async (tx) => {
    if (!(await claimBlob(tx, file.blobKey)))
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: 1,
        internal: 'the sweep deleted the bytes before a row referenced them',
      })
    await insertFile(tx, { ...file, workspaceId, createdBy: auditContext.accountId })
    const { purpose, contentType, sizeBytes } = file
    await recordSuccess(tx, auditContext, {
      workspaceId,
      targetId: file.id,
      detail: { purpose, contentType, sizeBytes },
    })
  })

/** Stores the bytes of an upload. Stores nothing if the upload is rejected or interrupted. */
const receiveUpload = async ({ blobs, purposes }: FilePorts, blobKey: string, form: Upload) => {
  const maxBytes = maxBytesOf(purposes)
  let isStored = false
  try {
    const { purpose: purposeText, received } = await readForm(form, maxBytes, async (part) => {
      const content = await storeContent(blobs, blobKey, part, maxBytes)
      isStored = true
      return content
    })
    const purpose: FilePurpose = parsePurpose(purposeText)
    assertPurpose(purposes[purpose], { size: received.sizeBytes, type: received.contentType })
    return { ...received, purpose }
  } catch (error) {
    // Rethrow the original error. If this deletion fails, the sweep deletes the bytes.
    if (isStored) await blobs.delete(blobKey).catch(() => undefined)
    throw error
  }
}

/**
 * Stores an upload and its row. A commit that reported an error can have succeeded. The bytes are then left to the
 * sweep, which keeps those that a row references.
 */
export const uploadFile = async (
  ports: FilePorts,
  { workspaceId, form }: { workspaceId: WorkspaceId; form: Upload },
  auditContext: AuditContext,
): Promise<FileRow> => {
  const blobKey = `files/${ports.ids.next<'blob'>()}`
  await addOrphanBlobs(ports.database, [blobKey], addMs(auditContext.at, ports.orphanAfterMs))
  const file = {
    ...(await receiveUpload(ports, blobKey, form)),
    id: ports.ids.next<'file'>(),
    createdAt: auditContext.at,
  }
  await storeFile(ports, workspaceId, file, auditContext)
  return { ...file, status: 'AVAILABLE' }
}

/** Returns an available file, or undefined if it is unknown, deleted or in another workspace. */
export const findFile = async (
  store: Database | Tx,
  workspaceId: WorkspaceId,
  fileId: string,
): Promise<FileRow | undefined> => {
  const file = await fileById(store, workspaceId, fileId)
  return file?.status === 'AVAILABLE' ? file : undefined
}

/** Returns the metadata of an available file. */
export const readFile = async ({ database }: FilePorts, workspaceId: WorkspaceId, fileId: string): Promise<FileRow> => {
  const file = await findFile(database, workspaceId, fileId)
  if (!file) throw notFound('no such file')
  return file
}

/** Returns the bytes of an available file. Supports ranges and conditional requests. */
export const downloadFile = async (
  ports: FilePorts,
  workspaceId: WorkspaceId,
  fileId: string,
  request: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange'>,
): Promise<StreamReply> => {
  const file = await readFile(ports, workspaceId, fileId)
  return download(ports.blobs, { ...file, key: file.blobKey }, request)
}
