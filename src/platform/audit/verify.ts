import type { Database } from '../../database/index.ts'
import { linkOf } from './chain-entry.ts'
import { entryBesideChain, type Head, readHead, type SealedEntry, sealedEntries } from './chain-store.ts'

export interface ChainBreak {
  /** Of the first entry that is not what was sealed, or that is missing; 0 where the chain's head is. */
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

/** Entries that no link of the chain leads to: its head was set back, or somebody has sealed them by hand. */
const beside = async (database: Database): Promise<ChainBreak | null> => {
  const entry = await entryBesideChain(database)
  return entry ? { ...entry, reason: 'unlinked' } : null
}

const follow = async (
  database: Database,
  head: Head,
  told: (done: number, all: number) => void,
): Promise<ChainVerdict> => {
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
  const broken = same(previous, head.hash)
    ? await beside(database)
    : ({ sequence, bizId: null, reason: 'unlinked' } as const)
  return { entriesChecked: sequence, broken }
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
  if (!head) return { entriesChecked: 0, broken: { sequence: 0, bizId: null, reason: 'missing' } }
  return follow(database, head, told)
}
