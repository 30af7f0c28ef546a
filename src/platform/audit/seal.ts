import { createHash } from 'node:crypto'
import { type Database, inTransaction } from '../../database/index.ts'
import { canonicalJson } from '../../kernel/index.ts'
import { type EntryContent, lockHead, type Seal, unsealedEntries, writeSeals } from './store.ts'

/**
 * SHA-256 over the previous hash and a canonical JSON array of the sequence number and the content. Needs no key, so
 * anyone who has the rows can verify it.
 */
export function hashEntry(previous: Uint8Array, sequence: number, entry: EntryContent): Uint8Array {
  const { bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId, clientIp } = entry
  const content = [sequence, bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId]
  return createHash('sha256')
    .update(previous)
    .update(canonicalJson([...content, clientIp, entry.detail]))
    .digest()
}

const batchSize = 500

/** Stops between two batches if the signal is aborted. */
export async function sealAuditLog(database: Database, signal?: AbortSignal): Promise<number> {
  let sealed = 0
  for (;;) {
    signal?.throwIfAborted()
    const count = await sealBatch(database)
    sealed += count
    if (count < batchSize) return sealed
  }
}

function sealBatch(database: Database): Promise<number> {
  return inTransaction(database, async (tx) => {
    let { sequence, hash } = await lockHead(tx)
    const seals: Seal[] = []
    for (const entry of await unsealedEntries(tx, batchSize)) {
      const previousHash = hash
      sequence += 1
      hash = hashEntry(previousHash, sequence, entry)
      seals.push({ bizId: entry.bizId, atMicros: entry.atMicros, sequence, previousHash, hash })
    }
    if (seals.length > 0) await writeSeals(tx, seals, { sequence, hash })
    return seals.length
  })
}
