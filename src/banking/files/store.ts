import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { FilePurpose, FileStatus } from './contract.ts'

const columns = [
  'biz_id as id',
  'blob_key as blobKey',
  'file_name as fileName',
  'content_type as contentType',
  'size_bytes as sizeBytes',
  'sha256',
  'purpose',
  'file_status as status',
  'created_at as createdAt',
] as const

export interface FileRow {
  id: string
  blobKey: string
  fileName: string
  contentType: string
  sizeBytes: number
  /** Hex. */
  sha256: string
  purpose: FilePurpose
  status: FileStatus
  createdAt: Instant
}

export interface NewFile extends Omit<FileRow, 'status'> {
  workspaceId: WorkspaceId
  createdBy: AccountId
}

export async function insertFile(tx: Tx, file: NewFile): Promise<void> {
  await tx
    .insertInto('files')
    .values({
      workspace_biz_id: file.workspaceId,
      biz_id: file.id,
      blob_key: file.blobKey,
      file_name: file.fileName,
      content_type: file.contentType,
      size_bytes: file.sizeBytes,
      sha256: file.sha256,
      purpose: file.purpose,
      file_status: 'AVAILABLE',
      created_by: file.createdBy,
      created_at: toDate(file.createdAt),
    })
    .execute()
}

export function fileById(store: Database | Tx, workspace: WorkspaceId, id: string): Promise<FileRow | undefined> {
  return store
    .selectFrom('files')
    .select(columns)
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .executeTakeFirst()
}

export interface DeletedFile {
  blobKey: string
  createdBy: AccountId
  sizeBytes: number
}

const deletedColumns = ['blob_key as blobKey', 'created_by as createdBy', 'size_bytes as sizeBytes'] as const

/** Returns undefined if the file is not available, or is a proof. */
export function markDeleted(tx: Tx, workspace: WorkspaceId, id: string): Promise<DeletedFile | undefined> {
  return tx
    .updateTable('files')
    .set({ file_status: 'DELETED' })
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .where('file_status', '=', 'AVAILABLE')
    .where('is_proof', '=', false)
    .returning(deletedColumns)
    .executeTakeFirst()
}

/** Returns undefined if the file is not available. */
export function markProof(tx: Tx, workspace: WorkspaceId, id: string): Promise<FileRow | undefined> {
  return tx
    .updateTable('files')
    .set({ is_proof: true })
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .where('file_status', '=', 'AVAILABLE')
    .returning(columns)
    .executeTakeFirst()
}

/** Returns the files that were available. */
export async function deleteFilesOf(tx: Tx, workspace: WorkspaceId): Promise<DeletedFile[]> {
  const deleted = await tx
    .deleteFrom('files')
    .where('workspace_biz_id', '=', workspace)
    .returning([...deletedColumns, 'file_status as status'])
    .execute()
  return deleted.filter(({ status }) => status === 'AVAILABLE')
}
