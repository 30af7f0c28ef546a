import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { DomainPorts } from '../../api/domain.ts'
import type { Database, ReadSnapshot } from '../../database/index.ts'
import { addMs, bizId, type Clock, days, type Ids } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { addOrphanBlobs, type Blobs, claimBlob, createByteMeter } from '../../platform/blobs/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { exportName, formats } from './formats.ts'
import { type Row, type Source, takeTurns } from './source.ts'
import { createSource } from './sources.ts'
import { beginRun, completeRun, failRun, type Run, recordProgress } from './store.ts'

export interface ExportJobPorts {
  database: Database
  transaction: DomainPorts['transaction']
  inSnapshot: ReadSnapshot
  ledger: Ledger
  blobs: Blobs
  clock: Clock
  ids: Ids
  settings: { lifeMs: number; pageSize?: number }
}

const ExportJob = z.object({ workspaceId: z.string(), exportId: z.string() })

/** The sweep deletes the bytes of a crashed attempt after this time. No attempt takes longer. */
const maxAttemptMs = days(1)

/** Minimum time between two writes of the row count. */
const progressMs = 250

/** Each attempt reads its own snapshot from the beginning. */
export function runExport(ports: ExportJobPorts, payload: unknown, { signal }: JobFacts): Promise<void> {
  return writeExport(ports, runOf(ports, payload), signal)
}

/** Called after the last attempt. */
export async function abandonExport(ports: ExportJobPorts, payload: unknown): Promise<void> {
  const run = runOf(ports, payload)
  if (await beginRun(ports.database, run)) await failRun(ports.database, run, 'SYSTEM.INTERNAL_ERROR')
}

async function writeExport(ports: ExportJobPorts, run: Run, signal: AbortSignal): Promise<void> {
  const { database, transaction, blobs, clock, ids, settings } = ports
  const request = await beginRun(database, run)
  if (!request) return
  const format = formats[request.format]
  const blobKey = `exports/${ids.next<'blob'>()}`
  await addOrphanBlobs(database, [blobKey], addMs(clock.now(), maxAttemptMs))
  const measure = createByteMeter()
  let rowCount = 0
  try {
    await ports.inSnapshot(async (snapshot) => {
      const source = createSource(ports, snapshot, request)
      const rows = countRows(ports, run, source, signal, (count) => {
        rowCount = count
      })
      const feeding = pipeline(format.write({ ...source, rows }), measure.through)
      const storing = blobs.put(blobKey, measure.through)
      // Both streams must end before the snapshot does. `put` also rejects with the cause if reading fails.
      await Promise.allSettled([feeding, storing])
      await storing
    })
  } catch (error) {
    // If this deletion fails, the sweep deletes the bytes.
    await blobs.delete(blobKey).catch(() => undefined)
    throw error
  }
  const at = clock.now()
  const completed = {
    blobKey,
    fileName: exportName(request.type, request.createdAt, format.ending),
    rowCount,
    sizeBytes: measure.size(),
    sha256: measure.sha256(),
    at,
    expiresAt: addMs(at, settings.lifeMs),
  }
  // If this transaction fails, keep the bytes, because the commit can have succeeded despite the error. The sweep
  // deletes unreferenced bytes.
  const isOurs = await transaction(async (tx) => {
    if (!(await completeRun(tx, run, completed))) return false
    if (!(await claimBlob(tx, blobKey))) throw new Error('the sweep deleted the bytes before a row referenced them')
    return true
  })
  if (!isOurs) await blobs.delete(blobKey)
}

/** Throws when the signal aborts or another attempt has started. */
async function* countRows(
  { database, clock }: ExportJobPorts,
  run: Run,
  source: Source,
  signal: AbortSignal,
  count: (rows: number) => void,
): AsyncGenerator<Row> {
  let rows = 0
  let storedAt = clock.now()
  for await (const row of takeTurns(source.rows)) {
    signal.throwIfAborted()
    rows += 1
    count(rows)
    yield row
    if (clock.now() - storedAt < progressMs) continue
    storedAt = clock.now()
    if (!(await recordProgress(database, run, rows))) throw new Error('another attempt has started')
  }
}

function runOf({ ids }: ExportJobPorts, payload: unknown): Run {
  const { workspaceId, exportId } = ExportJob.parse(payload)
  return { workspaceId: bizId(workspaceId), exportId, runId: ids.next<'run'>() }
}
