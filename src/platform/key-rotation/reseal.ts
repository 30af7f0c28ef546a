import type { Database } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import { type SecretBox, UnopenableError } from '../crypto/index.ts'
import { bytesOf, type KeyedColumns, type KeyedRow, type SealedColumn } from './columns.ts'
import { type CountByKey, countDigests, countSealed, replaceSealed, rowsToReseal } from './store.ts'

const batchSize = 200

export interface KeyUsage {
  label: string
  kind: 'sealed' | 'digest'
  current: number
  previous: number
  /** Values under a key that is not configured. */
  unknown: number
}

export interface KeyIds {
  current: string
  previous: readonly string[]
}

export async function readKeyUsage(
  database: Database,
  columns: KeyedColumns,
  keys: KeyIds,
  now: Instant,
): Promise<KeyUsage[]> {
  const usages: KeyUsage[] = []
  for (const column of columns.sealed)
    usages.push(usageOf(column.label, 'sealed', await countSealed(database, column), keys))
  for (const column of columns.digests)
    usages.push(usageOf(column.label, 'digest', await countDigests(database, column, now), keys))
  return usages
}

export interface Resealed {
  resealed: number
  failed: number
  firstError: unknown
}

interface Ports {
  database: Database
  secretBox: SecretBox
  keys: KeyIds
}

/**
 * Each row is one statement, so that a run can end at any time, and the next one continues. Gateways can run at the
 * same time.
 */
export async function resealAll(
  ports: Ports,
  { sealed: columns }: Pick<KeyedColumns, 'sealed'>,
  onProgress: (done: number) => void,
): Promise<Resealed> {
  const result: Resealed = { resealed: 0, failed: 0, firstError: undefined }
  let done = 0
  for (const column of columns) {
    let after: KeyedRow | undefined
    for (;;) {
      const rows = await rowsToReseal(ports.database, column, ports.keys.current, after, batchSize)
      after = rows.at(-1)
      if (after === undefined) break
      for (const row of rows)
        try {
          if (await resealRow(ports, column, row)) result.resealed++
        } catch (error) {
          if (!(error instanceof UnopenableError)) throw error
          result.failed++
          result.firstError ??= error
        }
      done += rows.length
      onProgress(done)
    }
  }
  return result
}

function usageOf(label: string, kind: KeyUsage['kind'], counts: CountByKey, keys: KeyIds): KeyUsage {
  const usage: KeyUsage = { label, kind, current: 0, previous: 0, unknown: 0 }
  for (const [keyId, values] of counts) {
    if (keyId === keys.current) usage.current += values
    else if (keys.previous.includes(keyId)) usage.previous += values
    else usage.unknown += values
  }
  return usage
}

/** Returns false if a concurrent change of the value won. */
async function resealRow({ database, secretBox }: Ports, column: SealedColumn, row: KeyedRow): Promise<boolean> {
  const context = column.contextOf(row)
  const plaintext = secretBox.open(column.purpose, context, bytesOf(row, column.column))
  const sealed = secretBox.seal(column.purpose, context, plaintext)
  return replaceSealed(database, column, row, sealed)
}
