import { declaredBy, domain, type SessionsPort } from '../../api/domain.ts'
import type { Tx } from '../../database/index.ts'
import {
  type Clock,
  type HandlerTable,
  hours,
  type Instant,
  minutes,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { addOrphanBlobs, type Downloadable, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import type { FilePurpose } from './contract.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { subtractFiles } from './quotas.ts'
import { fileDefaults, fileSettings, type Quotas } from './rules.ts'
import { migrations } from './schema.ts'
import { type FilePorts, findFile, type PurposeRules, servesPurpose } from './service.ts'
import { deleteFilesOf, markProof } from './store.ts'

/*
 * Uploads and downloads of files. A blob is stored before its row and deleted after it, so that every row has its
 * bytes. Start reading in `service.ts`; `content.ts` checks the bytes of an upload.
 */

export interface FilesOptions extends Omit<FilePorts, 'purposes' | 'quotas' | 'orphanAfterMs'> {
  clock: Clock
  words: Words
  createLink: SessionsPort['createLink']
  settings: {
    purposes: PurposeRules
    quotas: Quotas
    /** Retention of bytes without a row. */
    orphanAfterMs: number
  }
}

export interface Files {
  handlers: HandlerTable
  jobs: JobKind[]
  /** Returns undefined if the file is unknown, deleted or in another workspace. */
  fileOf(workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** Prevents the deletion of a file. Returns undefined if the file is not available. */
  keepAsProof(tx: Tx, workspace: WorkspaceId, fileId: string): Promise<Downloadable | undefined>
  /** Whether the type and size of the file are valid for the purpose. */
  serves(purpose: FilePurpose, file: Downloadable): boolean
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** Bytes of deleted files cost space only. */
const sweepEveryMs = minutes(10)

export function createFiles({ settings, clock, ...ports }: FilesOptions): Files {
  const { database } = ports
  const { purposes, quotas, orphanAfterMs } = settings
  const sweep: JobKind['work'] = async (_payload, { signal }) => {
    await deleteOrphanBlobs(ports, 'files', clock.now(), signal)
  }
  return {
    handlers: createHandlers({ ...ports, purposes, quotas, orphanAfterMs }),
    jobs: [{ name: 'files.sweep', attempts: 1, everyMs: sweepEveryMs, work: sweep }],
    fileOf: async (workspace, fileId) => {
      const file = await findFile(database, workspace, fileId)
      return file && { ...file, key: file.blobKey }
    },
    keepAsProof: async (tx, workspace, fileId) => {
      const file = await markProof(tx, workspace, fileId)
      return file && { ...file, key: file.blobKey }
    },
    serves: (purpose, file) => servesPurpose(purposes[purpose], file),
    clean: async (tx, { workspaceId, at }) => {
      const deleted = await deleteFilesOf(tx, workspaceId)
      await subtractFiles(tx, workspaceId, deleted)
      await addOrphanBlobs(
        tx,
        deleted.map(({ blobKey }) => blobKey),
        at,
      )
    },
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    files: Pick<Files, 'fileOf' | 'keepAsProof' | 'serves'>
  }
}

export default domain({
  name: 'files',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations,
  settings: fileSettings,
  settingsKey: 'files',
  defaults: fileDefaults,
  needs: ['blobs', 'clock', 'database', 'deployment', 'ids', 'sessions', 'transaction', 'words'],
  create: ({ settings, sessions: { createLink }, ...ports }) => {
    const orphanAfterMs = orphanRetentionMs(ports.deployment.uploadTimeoutMs)
    const options = { ...ports, createLink, settings: { ...settings, orphanAfterMs } }
    const { handlers, jobs, clean, ...service } = createFiles(options)
    return { handlers, jobs, service, onSandboxReset: clean }
  },
})

/** An upload in progress has no row yet. Its bytes stay for longer than it can take. */
function orphanRetentionMs(uploadTimeoutMs: number): number {
  return Math.max(hours(1), 2 * uploadTimeoutMs)
}
