import { type Database, inTransaction } from '../../database/index.ts'
import { hashEntry } from './chain-entry.ts'
import { lockHead, type Seal, unsealedEntries, writeSeals } from './chain-store.ts'

const batchSize = 500

const sealBatch = (database: Database): Promise<number> =>
  inTransaction(database, async (tx) => {
    let { sequence, hash } = await lockHead(tx)
    const seals: Seal[] = []
    for (const entry of await unsealedEntries(tx, batchSize)) {
      const previousHash = hash
      sequence += 1
      hash = hashEntry(previousHash, sequence, entry)
      seals.push({ bizId: entry.bizId, sequence, previousHash, hash })
    }
    if (seals.length > 0) await writeSeals(tx, seals, { sequence, hash })
    return seals.length
  })

/** Seals all committed entries in batches, and returns their number. Aborting the signal stops it between two batches. */
export const sealAuditLog = async (database: Database, signal?: AbortSignal): Promise<number> => {
  let sealed = 0
  for (;;) {
    signal?.throwIfAborted()
    const count = await sealBatch(database)
    sealed += count
    if (count < batchSize) return sealed
  }
}
