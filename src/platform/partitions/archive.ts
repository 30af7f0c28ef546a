import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import { addMs, type Clock, days } from '../../kernel/index.ts'
import {
  type ArchivedPartition,
  type ArchivedTable,
  type ClosedPartition,
  closePartition,
  countRows,
  dropPartition,
  insertArchived,
  oldestClosed,
  readRows,
  undropped,
} from './archive-store.ts'

/** Nothing younger leaves the store. Every rule that reads earlier rows looks back less far. */
export const minimumAgeDays = 92

export interface ArchiveRules {
  /** Throws if the partition cannot leave the store yet, or breaks a rule of its table. Call with a closed partition. */
  check(database: Database, partition: ClosedPartition): Promise<void>
  /** Stores what later checks start with. */
  record(tx: Tx, partition: ArchivedPartition): Promise<void>
}

interface ArchivePorts {
  /** Without timeouts, and without a transaction. */
  database: Database
  clock: Clock
  rules: ArchiveRules
  folder: string
  olderThanDays: number
  onWritten(file: string, rows: number): void
}

/** The partition that `archiveOldest` would take. */
export function findArchivable(
  database: Database,
  table: ArchivedTable,
  { clock, olderThanDays }: Pick<ArchivePorts, 'clock' | 'olderThanDays'>,
): Promise<ClosedPartition | undefined> {
  const age = Math.max(olderThanDays, minimumAgeDays)
  return oldestClosed(database, table, addMs(clock.now(), -days(age)))
}

/**
 * Writes the oldest partition to a file, records what checks need, and drops the partition. Returns undefined if none is
 * old enough. First finishes what an interrupted run has recorded. An interruption before the record changes nothing,
 * except that the partition accepts no further rows.
 */
export async function archiveOldest(table: ArchivedTable, ports: ArchivePorts): Promise<ArchivedPartition | undefined> {
  const { database, clock, rules, folder, onWritten } = ports
  for (const name of await undropped(database, table)) await dropPartition(database, table, name, clock.now())
  const partition = await findArchivable(database, table, ports)
  if (!partition) return undefined
  await closePartition(database, table, partition.name)
  await rules.check(database, partition)
  const file = `${partition.name}.jsonl`
  const { rows, sha256 } = await writeRows(database, table, partition.name, join(folder, file))
  if (rows !== (await countRows(database, partition.name))) throw new Error(`${file} lacks rows: archive again`)
  if (sha256 !== (await digestOf(join(folder, file)))) throw new Error(`${file} reads differently than written`)
  onWritten(file, rows)
  const archived = { ...partition, rows, file, sha256 }
  await inTransaction(database, async (tx) => {
    await insertArchived(tx, table, archived, clock.now())
    await rules.record(tx, archived)
  })
  await dropPartition(database, table, partition.name, clock.now())
  return archived
}

/** The file appears when it is complete and on disk. */
async function writeRows(database: Database, table: ArchivedTable, name: string, path: string) {
  const hash = createHash('sha256')
  let rows = 0
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600)
  try {
    for await (const page of readRows(database, table, name)) {
      const text = page.map((row) => `${row}\n`).join('')
      hash.update(text)
      rows += page.length
      await file.appendFile(text)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  const sha256 = hash.digest('hex')
  // An interrupted run leaves the same file. Another one can be the archive of another deployment.
  if (existsSync(path) && (await digestOf(path)) !== sha256)
    throw new Error(`${path} exists with other content: move it away, or use another folder`)
  await rename(partial, path)
  await syncFolder(dirname(path))
  return { rows, sha256 }
}

/** Without it, a crash of the machine could forget the name of the file after its rows have been dropped. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
