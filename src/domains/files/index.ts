import type { Tx } from '../../database/index.ts'
import type { Clock, HandlerTable, Instant, Words, WorkspaceId } from '../../kernel/index.ts'
import { addOrphanBlobs, type Downloadable, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import type { FilePurpose } from './contract.ts'
import { fileHandlers } from './handlers.ts'
import { type PurposeRules, serves } from './rules.ts'
import { type FilePorts, fileOf } from './service.ts'
import { deleteFilesOf } from './store.ts'

export interface FilesOptions extends Omit<FilePorts, 'purposes' | 'orphanAfterMs'> {
  clock: Clock
  words: Words
  /** By purpose; and how long bytes lie that no row has named before they are deleted, and how often those are looked for. */
  settings: { purposes: PurposeRules; orphanAfterMs: number; sweepEveryMs: number }
}

export interface Files {
  handlers: HandlerTable
  jobs: JobKind[]
  /** A file of this workspace, for the orders that refer to one; undefined where it is unknown, foreign or deleted. */
  fileOf(workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** Whether files for a purpose may be as this one is. */
  serves(purpose: FilePurpose, file: Downloadable): boolean
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** Uploads and downloads. A blob comes before its row and goes after it, so that a row always has its bytes. */
export const createFiles = ({ settings, words, clock, ...outside }: FilesOptions): Files => {
  const { database } = outside
  const { purposes, orphanAfterMs } = settings
  const sweep: JobKind['work'] = async (_payload, { signal }) =>
    void (await deleteOrphanBlobs(outside, 'files', clock.now(), signal))
  return {
    handlers: fileHandlers({ ...outside, purposes, orphanAfterMs }, words),
    jobs: [{ name: 'files.sweep', attempts: 1, everyMs: settings.sweepEveryMs, work: sweep }],
    fileOf: async (workspace, fileId) => {
      const file = await fileOf(database, workspace, fileId)
      return file && { ...file, key: file.blobKey }
    },
    serves: (purpose, file) => serves(purposes[purpose], file),
    clean: async (tx, { workspaceId, at }) => addOrphanBlobs(tx, await deleteFilesOf(tx, workspaceId), at),
  }
}
