import { createHash } from 'node:crypto'
import { canonicalJson } from '../../kernel/index.ts'

/** An entry's content as it is hashed: `at` in microseconds, so that nothing which the store keeps is left out. */
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
 * An entry's link in the chain: SHA-256 over the link before it, the sequence, and the content as a JSON array in this
 * order. It needs no key, so that anybody who has the rows can check it.
 */
export const linkOf = (previous: Uint8Array, sequence: number, entry: EntryContent): Uint8Array => {
  const { bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId, clientIp } = entry
  const content = [sequence, bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId]
  return createHash('sha256')
    .update(previous)
    .update(canonicalJson([...content, clientIp, entry.detail]))
    .digest()
}
