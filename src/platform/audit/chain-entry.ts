import { createHash } from 'node:crypto'
import { canonicalJson } from '../../kernel/index.ts'

/** The hashed content of an entry. `at` is in microseconds, the database's resolution. */
export interface EntryContent {
  bizId: string
  atMicros: string
  portal: string
  actorId: string | null
  workspaceId: string | null
  action: string
  targetId: string | null
  outcome: string
  requestId: string
  clientIp: string
  detail: unknown
}

/**
 * An entry's hash: SHA-256 over the previous hash, and a canonical JSON array of the sequence number and the content. It
 * needs no key, so anybody with the rows can verify it.
 */
export const hashEntry = (previous: Uint8Array, sequence: number, entry: EntryContent): Uint8Array => {
  const { bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId, clientIp } = entry
  const content = [sequence, bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId]
  return createHash('sha256')
    .update(previous)
    .update(canonicalJson([...content, clientIp, entry.detail]))
    .digest()
}
