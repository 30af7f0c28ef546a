import { inTransaction, type Tx } from '../../database/index.ts'
import type { HandlerTable, Instant, Words, WorkspaceId } from '../../kernel/index.ts'
import { addOrphanBlobs, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { exportHandlers } from './handlers.ts'
import { expireExports } from './run-store.ts'
import { exportJobName } from './service.ts'
import { deleteExportsOf } from './store.ts'
import { abandonExport, type ExportWorkPorts, exportWork } from './work.ts'

export interface ExportsOptions extends Omit<ExportWorkPorts, 'settings'> {
  words: Words
  settings: { pageSize: number; lifeMs: number; attempts: number; sweepEveryMs: number }
}

export interface Exports {
  handlers: HandlerTable
  jobs: JobKind[]
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** Lists as files, made in the background by jobs on the database. */
export const createExports = (options: ExportsOptions): Exports => {
  const { database, clock, settings, words } = options

  const sweep: JobKind['work'] = async (_payload, { signal }) => {
    const now = clock.now()
    await inTransaction(database, async (tx) => addOrphanBlobs(tx, await expireExports(tx, now), now))
    await deleteOrphanBlobs(options, 'exports', now, signal)
  }

  return {
    handlers: exportHandlers(options, words),
    jobs: [
      {
        name: exportJobName,
        attempts: settings.attempts,
        isLong: true,
        work: exportWork(options),
        abandon: abandonExport(options),
      },
      { name: 'exports.sweep', attempts: 1, everyMs: settings.sweepEveryMs, work: sweep },
    ],
    clean: async (tx, { workspaceId, at }) => addOrphanBlobs(tx, await deleteExportsOf(tx, workspaceId), at),
  }
}
