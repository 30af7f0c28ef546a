import { z } from 'zod'
import { type DeploymentPort, declaredBy, domain, type SessionsPort } from '../../api/domain.ts'
import { lifetimeMs } from '../../config/values.ts'
import type { Tx } from '../../database/index.ts'
import { days, type HandlerTable, type Instant, minutes, type Words, type WorkspaceId } from '../../kernel/index.ts'
import { addOrphanBlobs, deleteOrphanBlobs } from '../../platform/blobs/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { abandonExport, type ExportJobPorts, runExport } from './job.ts'
import { migrations } from './schema.ts'
import { exportJobName } from './service.ts'
import { deleteExportsOf, expireExports } from './store.ts'

/*
 * Exports of lists to files by background jobs. `sources.ts` reads the rows from one database snapshot, `formats.ts`
 * writes them, and `job.ts` runs an attempt. Start reading in `service.ts`.
 */

export interface ExportsOptions extends Omit<ExportJobPorts, 'settings'> {
  words: Words
  createLink: SessionsPort['createLink']
  deployment: Pick<DeploymentPort, 'codesOf'>
  settings: ExportJobPorts['settings']
}

export interface Exports {
  handlers: HandlerTable
  jobs: JobKind[]
  clean(tx: Tx, reset: { workspaceId: WorkspaceId; at: Instant }): Promise<void>
}

/** The pauses grow from one second to five minutes. Together they outlast an outage of five minutes. */
export const exportAttempts = 6

/** Reads show an expired export as such before its bytes are deleted. */
const sweepEveryMs = minutes(5)

export function createExports(options: ExportsOptions): Exports {
  const { transaction, clock } = options

  const sweep: JobKind['work'] = async (_payload, { signal }) => {
    const now = clock.now()
    await transaction(async (tx) => addOrphanBlobs(tx, await expireExports(tx, now), now))
    await deleteOrphanBlobs(options, 'exports', now, signal)
  }

  return {
    handlers: createHandlers(options),
    jobs: [
      {
        name: exportJobName,
        attempts: exportAttempts,
        isLong: true,
        work: (payload, facts) => runExport(options, payload, facts),
        abandon: (payload) => abandonExport(options, payload),
      },
      { name: 'exports.sweep', attempts: 1, everyMs: sweepEveryMs, work: sweep },
    ],
    clean: async (tx, { workspaceId, at }) => addOrphanBlobs(tx, await deleteExportsOf(tx, workspaceId), at),
  }
}

export const exportSettings = z.strictObject({
  lifeMs: lifetimeMs(1_000).describe(
    'Time in milliseconds for which a completed export can be downloaded. Afterwards, the export is deleted.',
  ),
})

export default domain({
  name: 'exports',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  settings: exportSettings,
  settingsKey: 'exports',
  defaults: { lifeMs: days(7) },
  migrations,
  needs: [
    'blobs',
    'clock',
    'database',
    'deployment',
    'ids',
    'inSnapshot',
    'ledger',
    'sessions',
    'transaction',
    'words',
  ],
  create: ({ sessions: { createLink }, ...ports }) => {
    const { handlers, jobs, clean } = createExports({ ...ports, createLink })
    return { handlers, jobs, onSandboxReset: clean }
  },
})
