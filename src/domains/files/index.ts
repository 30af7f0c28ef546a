import type { Tx } from '../../database/index.ts'
import type { Clock, HandlerTable, Instant, Words, WorkspaceId } from '../../kernel/index.ts'
import { addOrphanBlobs, type Downloadable, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import type { FilePurpose } from './contract.ts'
import { createHandlers } from './handlers.ts'
import { type FilePorts, findFile, type PurposeRules, servesPurpose } from './service.ts'
import { deleteFilesOf } from './store.ts'

/*
 * Uploads and downloads. A blob is stored before its row and deleted after it, so that a row always has its bytes. Start
 * reading in `service.ts`; `multipart-form.ts` and `content.ts` read and store the bytes of an upload.
 */

export interface FilesOptions extends Omit<FilePorts, 'purposes' | 'orphanAfterMs'> {
  clock: Clock
  words: Words
  settings: {
    purposes: PurposeRules
    /** How long bytes without a row are kept. */
    orphanAfterMs: number
    /** How often such bytes are deleted. */
    sweepEveryMs: number
  }
}

export interface Files {
  handlers: HandlerTable
  jobs: JobKind[]
  /** An available file of the workspace; undefined if it is unknown, foreign or deleted. */
  fileOf(workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** Whether the file could also serve this purpose. */
  serves(purpose: FilePurpose, file: Downloadable): boolean
  /** Deletes the files of a sandbox that is reset. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

export const createFiles = ({ settings, clock, ...ports }: FilesOptions): Files => {
  const { database } = ports
  const { purposes, orphanAfterMs, sweepEveryMs } = settings
  const sweep: JobKind['work'] = async (_payload, { signal }) => {
    await deleteOrphanBlobs(ports, 'files', clock.now(), signal)
  }
  return {
    handlers: createHandlers({ ...ports, purposes, orphanAfterMs }),
    jobs: [{ name: 'files.sweep', attempts: 1, everyMs: sweepEveryMs, work: sweep }],
    fileOf: async (workspace, fileId) => {
      const file = await findFile(database, workspace, fileId)
      return file && { ...file, key: file.blobKey }
    },
    serves: (purpose, file) => servesPurpose(purposes[purpose], file),
    clean: async (tx, { workspaceId, at }) => addOrphanBlobs(tx, await deleteFilesOf(tx, workspaceId), at),
  }
}
