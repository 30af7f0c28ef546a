import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { type Database, type InSnapshot, inTransaction } from '../../database/index.ts'
import { addMs, bizId, type Clock, days, type Ids } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { addUnnamed, type Blobs, meter, nameBlob } from '../../platform/blobs/index.ts'
import type { JobFacts } from '../../platform/jobs/index.ts'
import { formats } from './formats.ts'
import { exportName } from './rules.ts'
import { beginRun, completeRun, failRun, type Run, recordProgress } from './run-store.ts'
import { sourceOf } from './sources/index.ts'
import type { Row, Source } from './sources/row.ts'

export interface ExportWorkPorts {
  database: Database
  inSnapshot: InSnapshot
  ledger: Ledger
  blobs: Blobs
  clock: Clock
  ids: Ids
  settings: { pageSize: number; lifeMs: number }
}

const ExportJob = z.object({ workspaceId: z.string(), exportId: z.string() })

/** Longer than any attempt takes: one that was killed half-way leaves its bytes for a day. */
const longestAttemptMs = days(1)

/** How often the count of rows is written down. */
const progressMs = 250

/** Counts the rows that go by, writes the count down now and then, and stops when it is told to. */
async function* counted(
  { database, clock }: ExportWorkPorts,
  run: Run,
  source: Source,
  signal: AbortSignal,
  count: (rows: number) => void,
): AsyncGenerator<Row> {
  let rows = 0
  let toldAt = clock.now()
  for await (const row of source.rows) {
    signal.throwIfAborted()
    rows += 1
    count(rows)
    yield row
    if (clock.now() - toldAt < progressMs) continue
    toldAt = clock.now()
    if (!(await recordProgress(database, run, rows))) throw new Error('another attempt has taken over')
  }
}

const carryOut = async (ports: ExportWorkPorts, run: Run, signal: AbortSignal): Promise<void> => {
  const { database, blobs, clock, ids, settings } = ports
  const asked = await beginRun(database, run)
  if (!asked) return
  const format = formats[asked.format]
  const blobKey = `exports/${ids.next<'blob'>()}`
  await addUnnamed(database, [blobKey], addMs(clock.now(), longestAttemptMs))
  const measure = meter()
  let rowCount = 0
  try {
    await ports.inSnapshot(async (snapshot) => {
      const source = sourceOf(ports, snapshot, asked)
      const rows = counted(ports, run, source, signal, (count) => {
        rowCount = count
      })
      const feeding = pipeline(format.write({ ...source, rows }), measure.through)
      const storing = blobs.put(blobKey, measure.through)
      // Neither may outlive the snapshot. The store says why, for its own failures and for those that it was fed.
      await Promise.allSettled([feeding, storing])
      await storing
    })
  } catch (error) {
    // Where the bytes cannot be deleted either they are the sweep's: the attempt failed for the first reason.
    await blobs.delete(blobKey).catch(() => undefined)
    throw error
  }
  const at = clock.now()
  const completed = {
    blobKey,
    fileName: exportName(asked.type, asked.createdAt, format.ending),
    rowCount,
    sizeBytes: measure.size(),
    sha256: measure.sha256(),
    at,
    expiresAt: addMs(at, settings.lifeMs),
  }
  // Where no answer comes the row may be written: the bytes are the sweep's then, unless that row has named them.
  const isOurs = await inTransaction(database, async (tx) => {
    if (!(await completeRun(tx, run, completed))) return false
    if (!(await nameBlob(tx, blobKey))) throw new Error('the bytes were swept before a row named them')
    return true
  })
  if (!isOurs) await blobs.delete(blobKey)
}

const runOf = ({ ids }: ExportWorkPorts, payload: unknown): Run => {
  const { workspaceId, exportId } = ExportJob.parse(payload)
  return { workspaceId: bizId(workspaceId), exportId, runId: ids.next<'run'>() }
}

/** The job of an export. An attempt that was killed half-way is begun anew by the next one, over a snapshot of its own. */
export const exportWork =
  (ports: ExportWorkPorts) =>
  (payload: unknown, { signal }: JobFacts): Promise<void> =>
    carryOut(ports, runOf(ports, payload), signal)

/** An export that is given up has failed, as its owner gets to see. */
export const abandonExport =
  (ports: ExportWorkPorts) =>
  async (payload: unknown): Promise<void> => {
    const run = runOf(ports, payload)
    if (await beginRun(ports.database, run)) await failRun(ports.database, run, 'SYSTEM.INTERNAL_ERROR')
  }
