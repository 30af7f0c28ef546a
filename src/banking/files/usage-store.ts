import { sql } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import type { AccountId, WorkspaceId } from '../../kernel/index.ts'
import type { Usage } from './rules.ts'

export type UsageOwner = { scope: 'ACCOUNT'; id: AccountId } | { scope: 'WORKSPACE'; id: WorkspaceId }

const none: Usage = { files: 0, bytes: 0, filesToday: 0, bytesToday: 0 }

export async function readUsage(database: Database, { scope, id }: UsageOwner, day: string): Promise<Usage> {
  const found = await database
    .selectFrom('file_usage')
    .select(['files', 'bytes', 'day', 'dayFiles as filesToday', 'dayBytes as bytesToday'])
    .where('scope', '=', scope)
    .where('ownerBizId', '=', id)
    .executeTakeFirst()
  if (!found) return none
  // A clock that was set back does not start a new day.
  return found.day >= day ? found : { ...found, filesToday: 0, bytesToday: 0 }
}

/** Locks the owner's counters until the transaction ends. */
export async function addUsage(tx: Tx, { scope, id }: UsageOwner, size: number, day: string): Promise<Usage> {
  const sameDay = sql<boolean>`file_usage.day >= excluded.day`
  return tx
    .insertInto('file_usage')
    .values({ scope, ownerBizId: id, files: 1, bytes: size, day, dayFiles: 1, dayBytes: size })
    .onConflict((conflict) =>
      conflict.columns(['scope', 'ownerBizId']).doUpdateSet({
        files: sql`file_usage.files + 1`,
        bytes: sql`file_usage.bytes + excluded.bytes`,
        day: sql`greatest(file_usage.day, excluded.day)`,
        dayFiles: sql`CASE WHEN ${sameDay} THEN file_usage.day_files ELSE 0 END + 1`,
        dayBytes: sql`CASE WHEN ${sameDay} THEN file_usage.day_bytes ELSE 0 END + excluded.day_bytes`,
      }),
    )
    .returning(['files', 'bytes', 'dayFiles as filesToday', 'dayBytes as bytesToday'])
    .executeTakeFirstOrThrow()
}

export async function subtractUsage(
  tx: Tx,
  { scope, id }: UsageOwner,
  { files, bytes }: { files: number; bytes: number },
): Promise<void> {
  await tx
    .updateTable('file_usage')
    .set((row) => ({ files: row('files', '-', files), bytes: row('bytes', '-', bytes) }))
    .where('scope', '=', scope)
    .where('ownerBizId', '=', id)
    .execute()
}
