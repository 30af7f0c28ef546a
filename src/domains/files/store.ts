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

/** The metadata of a file. */
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

/** Inserts an available file. */
export const insertFile = async (tx: Tx, file: NewFile): Promise<void> => {
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

/** Returns the file, or undefined if it does not exist in the workspace. */
export const fileById = (store: Database | Tx, workspace: WorkspaceId, id: string): Promise<FileRow | undefined> =>
  store
    .selectFrom('files')
    .select(columns)
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .executeTakeFirst()

/** Deletes the files of a workspace. Returns the keys of their blobs. */
export const deleteFilesOf = async (tx: Tx, workspace: WorkspaceId): Promise<string[]> => {
  const deleted = await tx
    .deleteFrom('files')
    .where('workspace_biz_id', '=', workspace)
    .returning('blob_key as blobKey')
    .execute()
  return deleted.map(({ blobKey }) => blobKey)
}
