import { type HandlerTable, plus, type Words } from '../../kernel/index.ts'
import { sweepOrphans } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { exportHandlers } from './handlers.ts'
import { blobsInUse, expireExports } from './run-store.ts'
import { exportJobName } from './service.ts'
import { type ExportWorkPorts, exportWork } from './work.ts'

export interface ExportsOptions extends Omit<ExportWorkPorts, 'settings'> {
  words: Words
  settings: { pageSize: number; lifeMs: number; attempts: number; sweepEveryMs: number; orphanAfterMs: number }
}

/** Lists as files, made in the background by jobs on the database. */
export const createExports = (options: ExportsOptions): { handlers: HandlerTable; jobs: JobKind[] } => {
  const { database, blobs, clock, settings, words } = options

  const sweep = async (): Promise<void> => {
    for (const key of await expireExports(database, clock.now())) await blobs.delete(key)
    const before = plus(clock.now(), -settings.orphanAfterMs)
    await sweepOrphans(blobs, 'exports', before, (keys) => blobsInUse(database, keys))
  }

  return {
    handlers: exportHandlers(options, words),
    jobs: [
      { name: exportJobName, attempts: settings.attempts, work: exportWork(options) },
      { name: 'exports.sweep', attempts: 1, everyMs: settings.sweepEveryMs, work: sweep },
    ],
  }
}
