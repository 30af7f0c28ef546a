import { createHash } from 'node:crypto'

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

/** One text for one value, whatever the order of its names. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
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
    .update(canonical([...content, clientIp, entry.detail]))
    .digest()
}
