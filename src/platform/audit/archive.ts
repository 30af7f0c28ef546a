import type { ArchiveRules } from '../partitions/index.ts'
import { countUnsealed, lastSealed, readStart, recordArchivedEntries } from './archive-store.ts'
import { readExported } from './store.ts'
import { verifyChain } from './verify.ts'

/** `isExported`: whether the configuration exports the audit log, which then must have the entries. */
export function auditArchiveRules(isExported: boolean): ArchiveRules {
  return {
    check: async (database, partition) => {
      const unsealed = await countUnsealed(database, partition)
      if (unsealed > 0) throw new Error(`${unsealed} entries of ${partition.name} are not sealed: let a gateway run`)
      const last = await lastSealed(database, partition)
      if (!last) return
      if (isExported && (await readExported(database)) < last.sequence)
        throw new Error(`audit.export has not sent all entries of ${partition.name}: wait for it`)
      const start = await readStart(database)
      if (last.sequence <= start.sequence) return
      const { broken } = await verifyChain(database, last, start)
      if (broken)
        throw new Error(`the audit log is broken at entry ${broken.sequence} (${broken.reason}): nothing is archived`)
    },
    record: recordArchivedEntries,
  }
}
