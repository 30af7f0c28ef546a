import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../../database/index.ts'
import type { Clock, Instant } from '../../kernel/index.ts'
import { hashEntry } from './seal.ts'
import { type Head, readHead, type SealedEntry, sealedEntries, unlinkedEntry } from './store.ts'

export interface ChainBreak {
  /** 0 if the head is missing. */
  sequence: number
  /** Null if the entry is missing. */
  bizId: string | null
  reason: 'missing' | 'changed' | 'unlinked'
}

/** `broken` is null if the chain is intact. */
export interface ChainVerdict {
  entriesChecked: number
  broken: ChainBreak | null
}

type OnProgress = (checked: number, total: number) => void

/** Parsing and hashing this many entries takes about two milliseconds, in which no request is served. */
const batchSize = 100

const areEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const checkEntry = (entry: SealedEntry, sequence: number, previous: Uint8Array): ChainBreak | null => {
  const { bizId } = entry.content
  if (entry.sequence !== sequence) return { sequence, bizId: null, reason: 'missing' }
  if (!areEqual(entry.previousHash, previous)) return { sequence, bizId, reason: 'unlinked' }
  if (!areEqual(entry.hash, hashEntry(previous, sequence, entry.content))) return { sequence, bizId, reason: 'changed' }
  return null
}

/** Someone moved the head back or sealed the entry manually. */
const findUnlinkedEntry = async (database: Database): Promise<ChainBreak | null> => {
  const entry = await unlinkedEntry(database)
  return entry ? { ...entry, reason: 'unlinked' } : null
}

const verifyChain = async (database: Database, head: Head, onProgress: OnProgress): Promise<ChainVerdict> => {
  let previous: Uint8Array = new Uint8Array(32)
  let sequence = 0
  onProgress(sequence, head.sequence)
  while (sequence < head.sequence) {
    const entries = await sealedEntries(database, sequence, batchSize)
    for (const entry of entries) {
      if (sequence === head.sequence) break
      const broken = checkEntry(entry, sequence + 1, previous)
      if (broken) return { entriesChecked: sequence, broken }
      sequence += 1
      previous = entry.hash
    }
    onProgress(sequence, head.sequence)
    await nextTurn()
    if (entries.length === 0)
      return { entriesChecked: sequence, broken: { sequence: sequence + 1, bizId: null, reason: 'missing' } }
  }
  const broken = areEqual(previous, head.hash)
    ? await findUnlinkedEntry(database)
    : ({ sequence, bizId: null, reason: 'unlinked' } as const)
  return { entriesChecked: sequence, broken }
}

/** Ignores entries that are not sealed yet. */
export const verifyAuditLog = async (
  database: Database,
  onProgress: OnProgress = () => undefined,
): Promise<ChainVerdict> => {
  const head = await readHead(database)
  if (!head) return { entriesChecked: 0, broken: { sequence: 0, bizId: null, reason: 'missing' } }
  return verifyChain(database, head, onProgress)
}

/** A verification reads the whole log, so concurrent callers share one run. */
export class AuditVerifier {
  readonly #ports: { database: Database; clock: Clock }
  #running: Promise<ChainVerdict & { checkedAt: Instant }> | null = null

  constructor(ports: { database: Database; clock: Clock }) {
    this.#ports = ports
  }

  /** `checkedAt` is the start of the run. */
  verify(): Promise<ChainVerdict & { checkedAt: Instant }> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #run(): Promise<ChainVerdict & { checkedAt: Instant }> {
    const checkedAt = this.#ports.clock.now()
    return { ...(await verifyAuditLog(this.#ports.database)), checkedAt }
  }
}
