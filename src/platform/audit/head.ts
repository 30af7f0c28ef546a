import type { Database } from '../../database/index.ts'
import { auditHeadPattern } from '../../kernel/index.ts'
import { readStart } from './archive-store.ts'
import { type Head, sealedEntries } from './store.ts'

/** Where a log has the entry of a head that was noted elsewhere. A restored copy can lack it, or have another one. */
export type HeadPlace = 'FOUND' | 'MISSING' | 'DIFFERENT'

export function formatHead({ sequence, hash }: Head): string {
  return `${sequence}:${Buffer.from(hash).toString('hex')}`
}

/** Throws a TypeError unless the text matches `auditHeadPattern`. */
export function parseHead(text: string): Head {
  const [, sequence, hash] = auditHeadPattern.exec(text) ?? []
  if (sequence === undefined || hash === undefined) throw new TypeError('not sequence:hash')
  return { sequence: Number(sequence), hash: Buffer.from(hash, 'hex') }
}

/** `verified` is the last entry of an intact log. */
export async function findHead(database: Database, expected: Head, verified: Head): Promise<HeadPlace> {
  if (expected.sequence > verified.sequence) return 'MISSING'
  const first = await readStart(database)
  if (expected.sequence < first.sequence) return 'MISSING'
  const [entry] =
    expected.sequence === first.sequence ? [first] : await sealedEntries(database, expected.sequence - 1, 1)
  return entry && formatHead(entry) === formatHead(expected) ? 'FOUND' : 'DIFFERENT'
}
