import { type Clock, type HandlerTable, plus, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { type Downloadable, sweepOrphans } from '../../platform/blobs/index.ts'
import type { Tx } from '../../platform/database/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { fileHandlers } from './handlers.ts'
import type { PurposeRules } from './rules.ts'
import { type FilePorts, fileOf } from './service.ts'
import { blobsInUse, deleteFilesOf } from './store.ts'

export interface FilesOptions extends Omit<FilePorts, 'purposes'> {
  clock: Clock
  words: Words
  /** By purpose; and how old a blob is that no file refers to before it is deleted, and how often that is looked for. */
  settings: { purposes: PurposeRules; orphanAfterMs: number; sweepEveryMs: number }
}

export interface Files {
  handlers: HandlerTable
  jobs: JobKind[]
  /** A file of this workspace, for the orders that refer to one; undefined where it is unknown, foreign or deleted. */
  fileOf(workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** Uploads and downloads. A blob comes before its row and goes after it, so that a row always has its bytes. */
export const createFiles = ({ settings, words, clock, ...outside }: FilesOptions): Files => {
  const { database, blobs } = outside
  const sweep = async (): Promise<void> => {
    const before = plus(clock.now(), -settings.orphanAfterMs)
    await sweepOrphans(blobs, 'files', before, (keys) => blobsInUse(database, keys))
  }
  return {
    handlers: fileHandlers({ ...outside, purposes: settings.purposes }, words),
    jobs: [{ name: 'files.sweep', attempts: 1, everyMs: settings.sweepEveryMs, work: sweep }],
    fileOf: async (workspace, fileId) => {
      const file = await fileOf(database, workspace, fileId)
      return file && { ...file, key: file.blobKey }
    },
    clean: (tx, { workspaceId }) => deleteFilesOf(tx, workspaceId),
  }
}
