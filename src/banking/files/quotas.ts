import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  days,
  type Instant,
  Refusal,
  rateLimited,
  toIso,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { exceededPart, type Quotas, type Usage } from './rules.ts'
import { addUsage, readUsage, subtractUsage, type UsageOwner } from './usage-store.ts'

export interface Uploader {
  accountId: AccountId
  workspaceId: WorkspaceId
}

/** Throws ACCESS.RATE_LIMITED or FILE.QUOTA_EXCEEDED if not even one more byte is allowed. */
export async function assertMayUpload(
  database: Database,
  uploader: Uploader,
  quotas: Quotas,
  at: Instant,
): Promise<void> {
  for (const { scope, owner } of ownersOf(uploader)) {
    const { files, bytes, filesToday, bytesToday } = await readUsage(database, owner, dayOf(at))
    const next = { files: files + 1, bytes: bytes + 1, filesToday: filesToday + 1, bytesToday: bytesToday + 1 }
    assertWithin(next, quotas, scope, at)
  }
}

/**
 * Call in the transaction that inserts the row. Locked counters prevent parallel uploads from exceeding a quota. Throws
 * ACCESS.RATE_LIMITED or FILE.QUOTA_EXCEEDED.
 */
export async function countUpload(
  tx: Tx,
  uploader: Uploader,
  sizeBytes: number,
  quotas: Quotas,
  at: Instant,
): Promise<void> {
  for (const { scope, owner } of ownersOf(uploader))
    assertWithin(await addUsage(tx, owner, sizeBytes, dayOf(at)), quotas, scope, at)
}

/** The daily counts remain, so that deleting files does not allow more uploads. */
export async function subtractFiles(
  tx: Tx,
  workspaceId: WorkspaceId,
  deleted: readonly { createdBy: AccountId; sizeBytes: number }[],
): Promise<void> {
  const byAccount = Map.groupBy(deleted, ({ createdBy }) => createdBy)
  const bytesOf = (files: typeof deleted): number => files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  for (const [id, files] of [...byAccount].sort(([one], [other]) => (one < other ? -1 : 1)))
    await subtractUsage(tx, { scope: 'ACCOUNT', id }, { files: files.length, bytes: bytesOf(files) })
  await subtractUsage(tx, { scope: 'WORKSPACE', id: workspaceId }, { files: deleted.length, bytes: bytesOf(deleted) })
}

/** Locking the account before the workspace prevents deadlocks. */
function ownersOf({ accountId, workspaceId }: Uploader) {
  return [
    { scope: 'account', owner: { scope: 'ACCOUNT', id: accountId } },
    { scope: 'workspace', owner: { scope: 'WORKSPACE', id: workspaceId } },
  ] as const satisfies { scope: keyof Quotas; owner: UsageOwner }[]
}

function dayOf(at: Instant): string {
  return toIso(at).slice(0, 10)
}

function assertWithin(usage: Usage, quotas: Quotas, scope: keyof Quotas, at: Instant): void {
  const exceeded = exceededPart(usage, quotas[scope])
  if (exceeded === 'total') throw new Refusal('FILE.QUOTA_EXCEEDED', { internal: `files of the ${scope}` })
  if (exceeded === null) return
  const limit = { name: `files-of-${scope}`, limit: quotas[scope].filesPerDay, windowMs: days(1) }
  throw rateLimited(days(1) - (at % days(1)), `uploads of the ${scope} today`, limit)
}
