import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../../database/index.ts'
import { addMs, type Clock, type Instant } from '../../kernel/index.ts'
import { archivedLinks } from './archive-store.ts'
import { findHead, formatHead, type HeadPlace, parseHead } from './head.ts'
import { hashEntry } from './seal.ts'
import { type Head, readEnds, type SealedEntry, sealedEntries, unlinkedEntry } from './store.ts'

export interface ChainBreak {
  /** 0 if the head is missing. */
  sequence: number
  /** Null if the entry is missing. */
  bizId: string | null
  reason: 'missing' | 'changed' | 'unlinked'
}

/** An intact chain has a head, which is its last entry. */
type ChainVerdict = { entriesChecked: number } & ({ broken: null; head: Head } | { broken: ChainBreak; head?: never })

/** `verified` is the last intact entry. */
type OnProgress = (verified: Head, total: number) => void

/** Parsing and hashing this many entries takes about two milliseconds, in which no request is served. */
const batchSize = 100

/**
 * Ignores entries that are not sealed yet. Reads only the entries behind `after`, which counts as intact. Default: behind
 * the archived ones.
 */
export async function verifyAuditLog(
  database: Database,
  onProgress: OnProgress = () => undefined,
  after?: Head,
): Promise<ChainVerdict> {
  const ends = await readEnds(database)
  if (!ends) return { entriesChecked: 0, broken: { sequence: 0, bizId: null, reason: 'missing' } }
  return verifyChain(database, ends.head, after ?? ends.archived, onProgress)
}

/** `NEW` reads only the entries behind those that this process has verified within a day. */
type VerificationScope = 'ALL' | 'NEW'

interface Verification extends Pick<ChainVerdict, 'entriesChecked' | 'broken'> {
  /** The last entry, as `sequence:hash`. Null if the chain is broken. */
  head: string | null
  /** The number of the first entry that was read. */
  firstSequence: number
  /** The start of the run. */
  checkedAt: Instant
}

const verifiedForMs = 86_400_000

/**
 * A verification of the whole log takes minutes on a large store. One run at a time, which concurrent callers share.
 * The last verified entry is kept in memory: someone who can change the database cannot change it.
 */
export class AuditVerifier {
  readonly #ports: { database: Database; clock: Clock }
  #running: { scope: VerificationScope; result: Promise<Verification> } | null = null
  /** `since` is the start of the run that read the whole log. */
  #verified: { last: Head; since: Instant } | null = null
  #lastResult: Verification | null = null

  constructor(ports: { database: Database; clock: Clock }) {
    this.#ports = ports
  }

  /** The last run that ended. Null since the start of the process. */
  get lastResult(): Verification | null {
    return this.#lastResult
  }

  verify(scope: VerificationScope = 'ALL'): Promise<Verification> {
    const running = this.#running
    if (running && (running.scope === 'ALL' || scope === 'NEW')) return running.result
    const result = this.#runAfter(running?.result, scope).finally(() => {
      if (this.#running?.result === result) this.#running = null
    })
    this.#running = { scope, result }
    return result
  }

  async #runAfter(earlier: Promise<Verification> | undefined, scope: VerificationScope): Promise<Verification> {
    await earlier?.catch(() => undefined)
    const { database, clock } = this.#ports
    const checkedAt = clock.now()
    const resumed = scope === 'NEW' ? this.#verifiedAt(checkedAt) : null
    const since = resumed?.since ?? checkedAt
    let firstSequence: number | null = null
    // A run that fails leaves what it has verified to the next one.
    const verdict = await verifyAuditLog(
      database,
      (last) => {
        firstSequence ??= last.sequence + 1
        this.#verified = { last, since }
      },
      resumed?.last,
    )
    const { entriesChecked, broken, head } = verdict
    this.#lastResult = {
      entriesChecked,
      broken,
      head: head ? formatHead(head) : null,
      firstSequence: firstSequence ?? 1,
      checkedAt,
    }
    return this.#lastResult
  }

  /**
   * Verifies, and finds the entry of `expected`, a `sequence:hash`. The place is null if the chain is broken. A shared run
   * can be older than the entry, so a further one reads the newer entries before the entry counts as missing.
   */
  async verifyHead(
    expected: string,
    scope: VerificationScope,
  ): Promise<{ verification: Verification; place: HeadPlace | null }> {
    const first = await this.verify(scope)
    const place = await this.#find(expected, first)
    if (place !== 'MISSING') return { verification: first, place }
    const verification = { ...(await this.verify('NEW')), firstSequence: first.firstSequence }
    return { verification, place: await this.#find(expected, verification) }
  }

  async #find(expected: string, { head }: Verification): Promise<HeadPlace | null> {
    return head === null ? null : findHead(this.#ports.database, parseHead(expected), parseHead(head))
  }

  #verifiedAt(now: Instant): { last: Head; since: Instant } | null {
    const verified = this.#verified
    return verified && now >= verified.since && now < addMs(verified.since, verifiedForMs) ? verified : null
  }
}

/** Verifies the entries up to `head`, which is an entry of the log. */
export async function verifyChain(
  database: Database,
  head: Head,
  after: Head,
  onProgress: OnProgress = () => undefined,
): Promise<ChainVerdict> {
  let { sequence, hash } = after
  onProgress(after, head.sequence)
  while (sequence < head.sequence) {
    const entries = await sealedEntries(database, sequence, batchSize)
    for (const entry of entries) {
      if (sequence === head.sequence) break
      if (entry.sequence !== sequence + 1) ({ sequence, hash } = await followArchived(database, { sequence, hash }))
      const broken = checkEntry(entry, sequence + 1, hash)
      if (broken) return { entriesChecked: sequence, broken }
      sequence += 1
      hash = entry.hash
    }
    onProgress({ sequence, hash }, head.sequence)
    await nextTurn()
    if (entries.length === 0)
      return { entriesChecked: sequence, broken: { sequence: sequence + 1, bizId: null, reason: 'missing' } }
  }
  const broken = areEqual(hash, head.hash)
    ? await findUnlinkedEntry(database)
    : ({ sequence, bizId: null, reason: 'unlinked' } as const)
  return broken ? { entriesChecked: sequence, broken } : { entriesChecked: sequence, broken, head }
}

/** Returns the last of the archived entries that follow. */
async function followArchived(database: Database, from: Head): Promise<Head> {
  let last = from
  for (;;) {
    const links = await archivedLinks(database, last.sequence, batchSize)
    for (const { sequence, previousHash, hash } of links) {
      if (sequence !== last.sequence + 1 || !areEqual(previousHash, last.hash)) return last
      last = { sequence, hash }
    }
    if (links.length < batchSize) return last
  }
}

function checkEntry(entry: SealedEntry, sequence: number, previous: Uint8Array): ChainBreak | null {
  const { bizId } = entry.content
  if (entry.sequence !== sequence) return { sequence, bizId: null, reason: 'missing' }
  if (!areEqual(entry.previousHash, previous)) return { sequence, bizId, reason: 'unlinked' }
  if (!areEqual(entry.hash, hashEntry(previous, sequence, entry.content))) return { sequence, bizId, reason: 'changed' }
  return null
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** Someone moved the head back or sealed the entry manually. */
async function findUnlinkedEntry(database: Database): Promise<ChainBreak | null> {
  const entry = await unlinkedEntry(database)
  return entry ? { ...entry, reason: 'unlinked' } : null
}
