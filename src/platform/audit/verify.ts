import type { Database } from '../database/index.ts'
import { readHead, type SealedEntry, sealedEntries } from './chain-store.ts'
import { linkOf } from './entry.ts'

export interface ChainBreak {
  /** Of the first entry that is not what was sealed, or that is missing. */
  sequence: number
  /** Null where the entry itself is missing. */
  bizId: string | null
  reason: 'missing' | 'changed' | 'unlinked'
}

export interface ChainVerdict {
  entriesChecked: number
  broken: ChainBreak | null
}

const batchSize = 1_000

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const judge = (entry: SealedEntry, sequence: number, previous: Uint8Array): ChainBreak | null => {
  const { bizId } = entry.content
  if (entry.sequence !== sequence) return { sequence, bizId: null, reason: 'missing' }
  if (!same(entry.previousHash, previous)) return { sequence, bizId, reason: 'unlinked' }
  if (!same(entry.hash, linkOf(previous, sequence, entry.content))) return { sequence, bizId, reason: 'changed' }
  return null
}

/**
 * Follows the chain from its beginning to the head as it stood at the start, a batch at a time, so that writers are
 * not held up. Entries that are not sealed yet belong to no chain and are not judged.
 */
export const verifyAuditLog = async (
  database: Database,
  told: (done: number, all: number) => void = () => undefined,
): Promise<ChainVerdict> => {
  const head = await readHead(database)
  let previous: Uint8Array = new Uint8Array(32)
  let sequence = 0
  told(sequence, head.sequence)
  while (sequence < head.sequence) {
    const entries = await sealedEntries(database, sequence, batchSize)
    for (const entry of entries) {
      if (sequence === head.sequence) break
      const broken = judge(entry, sequence + 1, previous)
      if (broken) return { entriesChecked: sequence, broken }
      sequence += 1
      previous = entry.hash
    }
    told(sequence, head.sequence)
    if (entries.length === 0)
      return { entriesChecked: sequence, broken: { sequence: sequence + 1, bizId: null, reason: 'missing' } }
  }
  const broken = same(previous, head.hash) ? null : ({ sequence, bizId: null, reason: 'unlinked' } as const)
  return { entriesChecked: sequence, broken }
}
