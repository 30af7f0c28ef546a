import type { Selectable } from 'kysely'
import type { Database, Tables, Tx } from '../../database/index.ts'
import { type AccountId, toDate, type WorkspaceId } from '../../kernel/index.ts'

const columns = [
  'bizId',
  'blobKey',
  'fileName',
  'contentType',
  'sizeBytes',
  'sha256',
  'purpose',
  'fileStatus',
  'createdAt',
] as const

export type FileRow = Pick<Selectable<Tables['files']>, (typeof columns)[number]>

export interface NewFile extends Omit<FileRow, 'fileStatus'> {
  workspaceBizId: WorkspaceId
  createdBy: AccountId
}

export async function insertFile(tx: Tx, file: NewFile): Promise<void> {
  await tx
    .insertInto('files')
    .values({
      workspaceBizId: file.workspaceBizId,
      bizId: file.bizId,
      blobKey: file.blobKey,
      fileName: file.fileName,
      contentType: file.contentType,
      sizeBytes: file.sizeBytes,
      sha256: file.sha256,
      purpose: file.purpose,
      fileStatus: 'AVAILABLE',
      createdBy: file.createdBy,
      createdAt: toDate(file.createdAt),
    })
    .execute()
}

export function fileById(store: Database | Tx, workspace: WorkspaceId, id: string): Promise<FileRow | undefined> {
  return store
    .selectFrom('files')
    .select(columns)
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', id)
    .executeTakeFirst()
}

export interface DeletedFile {
  blobKey: string
  createdBy: AccountId
  sizeBytes: number
}

const deletedColumns = ['blobKey', 'createdBy', 'sizeBytes'] as const

/** Returns undefined if the file is not available, or is a proof. */
export function markDeleted(tx: Tx, workspace: WorkspaceId, id: string): Promise<DeletedFile | undefined> {
  return tx
    .updateTable('files')
    .set({ fileStatus: 'DELETED' })
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', id)
    .where('fileStatus', '=', 'AVAILABLE')
    .where('isProof', '=', false)
    .returning(deletedColumns)
    .executeTakeFirst()
}

/** Returns undefined if the file is not available. */
export function markProof(tx: Tx, workspace: WorkspaceId, id: string): Promise<FileRow | undefined> {
  return tx
    .updateTable('files')
    .set({ isProof: true })
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', id)
    .where('fileStatus', '=', 'AVAILABLE')
    .returning(columns)
    .executeTakeFirst()
}

/** Returns the files that were available. */
export async function deleteFilesOf(tx: Tx, workspace: WorkspaceId): Promise<DeletedFile[]> {
  const deleted = await tx
    .deleteFrom('files')
    .where('workspaceBizId', '=', workspace)
    .returning([...deletedColumns, 'fileStatus as status'])
    .execute()
  return deleted.filter(({ status }) => status === 'AVAILABLE')
}
