import { declaredBy, domain } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import type { Clock, HandlerTable, Instant, Words, WorkspaceId } from '../../kernel/index.ts'
import { addOrphanBlobs, type Downloadable, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import type { FilePurpose } from './contract.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { migrations } from './schema.ts'
import { type FilePorts, findFile, type PurposeRules, servesPurpose } from './service.ts'
import { deleteFilesOf } from './store.ts'

/*
 * Uploads and downloads of files. A blob is stored before its row and deleted after it, so that every row has its
 * bytes. `multipart-form.ts` parses an upload; `content.ts` checks and stores its bytes. Start reading in `service.ts`.
 */

export interface FilesOptions extends Omit<FilePorts, 'purposes' | 'orphanAfterMs'> {
  clock: Clock
  words: Words
  settings: {
    purposes: PurposeRules
    /** Retention of bytes without a row, in milliseconds. */
    orphanAfterMs: number
    /** Interval for deleting such bytes, in milliseconds. */
    sweepEveryMs: number
  }
}

export interface Files {
  handlers: HandlerTable
  jobs: JobKind[]
  /** Returns an available file, or undefined if it is unknown, deleted or in another workspace. */
  fileOf(workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** Whether the type and size of the file are valid for the purpose. */
  serves(purpose: FilePurpose, file: Downloadable): boolean
  /** Deletes the files of a sandbox during its reset. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** Builds the domain. */
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

declare module '../../api/services.ts' {
  interface DomainServices {
    files: Pick<Files, 'fileOf' | 'serves'>
  }
}

export default domain({
  name: 'files',
  ...declaredBy(contract),
  migrations,
  create: ({ configuration, ...ports }) => {
    // Do not delete the bytes of an upload in progress.
    const orphanAfterMs = Math.max(configuration.files.orphanAfterMs, 2 * configuration.requests.uploadTimeoutMs)
    const { handlers, jobs, clean, ...service } = createFiles({
      ...ports,
      settings: { ...configuration.files, orphanAfterMs },
    })
    return { handlers, jobs, service, onSandboxReset: clean }
  },
})
