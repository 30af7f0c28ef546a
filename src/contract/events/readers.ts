import { denied, invalid, type Permission } from '../../kernel/index.ts'
import type { Audience, EventRow } from './event.ts'

/** Members of a workspace or operators, who hold these permissions now. */
export interface EventReader {
  readonly audience: Audience
  readonly permissions: ReadonlySet<Permission>
}

export type ReadableEvents = ReadonlyMap<string, Pick<EventRow, 'audience' | 'permission' | 'operatorPermission'>>

/** Whether a reader can read events of a type. Feeds, streams and webhooks ask nothing else. */
export function canReadEvent(types: ReadableEvents, type: string, { audience, permissions }: EventReader): boolean {
  const row = types.get(type)
  if (!row) return false
  return audience === 'operators'
    ? row.operatorPermission !== null && permissions.has(row.operatorPermission)
    : row.audience === 'workspace' && permissions.has(row.permission)
}

/** Returns all types that a reader can read. */
export function readableEvents(types: ReadableEvents, reader: EventReader): string[] {
  return [...types.keys()].filter((type) => canReadEvent(types, type, reader))
}

/**
 * Throws VALIDATION.INVALID_PARAMETER for an unknown type, and ACCESS.PERMISSION_DENIED for one that the reader cannot
 * read. `fieldOf` names the field of a type.
 */
export function assertReadableEvents(
  types: ReadableEvents,
  requested: readonly string[],
  reader: EventReader,
  fieldOf: (index: number) => string,
): void {
  for (const [index, type] of requested.entries()) {
    const row = types.get(type)
    if (!row || (reader.audience === 'workspace' && row.audience !== 'workspace'))
      throw invalid(fieldOf(index), 'an unknown type of events')
    if (!canReadEvent(types, type, reader)) throw denied(`the caller cannot read the event ${type}`)
  }
}
