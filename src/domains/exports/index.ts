import { type HandlerTable, plus, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { sweepOrphans } from '../../platform/blobs/index.ts'
import type { Tx } from '../../platform/database/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { exportHandlers } from './handlers.ts'
import { blobsInUse, expireExports } from './run-store.ts'
import { exportJobName } from './service.ts'
import { deleteExportsOf } from './store.ts'
import { abandonExport, type ExportWorkPorts, exportWork } from './work.ts'

export interface ExportsOptions extends Omit<ExportWorkPorts, 'settings'> {
  words: Words
  settings: { pageSize: number; lifeMs: number; attempts: number; sweepEveryMs: number; orphanAfterMs: number }
}

export interface Exports {
  handlers: HandlerTable
  jobs: JobKind[]
  /** For a sandbox that is emptied. */
  clean(tx: Tx, reset: { workspaceId: WorkspaceId }): Promise<void>
}

/** Lists as files, made in the background by jobs on the database. */
export const createExports = (options: ExportsOptions): Exports => {
  const { database, blobs, clock, settings, words } = options

  const sweep = async (): Promise<void> => {
    for (const key of await expireExports(database, clock.now())) await blobs.delete(key)
    const before = plus(clock.now(), -settings.orphanAfterMs)
    await sweepOrphans(blobs, 'exports', before, (keys) => blobsInUse(database, keys))
  }

  return {
    handlers: exportHandlers(options, words),
    jobs: [
      { name: exportJobName, attempts: settings.attempts, work: exportWork(options), abandon: abandonExport(options) },
      { name: 'exports.sweep', attempts: 1, everyMs: settings.sweepEveryMs, work: sweep },
    ],
    clean: (tx, { workspaceId }) => deleteExportsOf(tx, workspaceId),
  }
}
