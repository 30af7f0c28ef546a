import {
  type Caller,
  denied,
  invalid,
  type Permission,
  passkeyRequired,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { Audience, EventRow } from './event.ts'

/** Members of a workspace or operators, who hold these permissions now. */
export interface EventReader {
  readonly audience: Audience
  readonly permissions: ReadonlySet<Permission>
  /** The permissions of a session that was started with a passkey, if this session has fewer. */
  readonly withPasskey?: ReadonlySet<Permission> | undefined
}

export function memberReader({ permissions, withPasskey }: WorkspaceAccess): EventReader {
  return { audience: 'workspace', permissions, withPasskey: withPasskey?.permissions }
}

export function operatorReader({ permissions, withheld }: Caller): EventReader {
  return { audience: 'operators', permissions, withPasskey: withheld && permissions.union(withheld) }
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

/** Throws ACCESS.PASSKEY_REQUIRED if a session that was started with a passkey can read more types. */
export function assertNoneWithheld(types: ReadableEvents, reader: EventReader): void {
  const withheld = [...types.keys()].find(
    (type) => !canReadEvent(types, type, reader) && isWithheld(types, type, reader),
  )
  if (withheld !== undefined) throw passkeyRequired(`the session cannot read the event ${withheld}`)
}

/**
 * Throws VALIDATION.INVALID_PARAMETER for an unknown type, and ACCESS.PERMISSION_DENIED for one that the reader cannot
 * read, or ACCESS.PASSKEY_REQUIRED if the account can. `fieldOf` names the field of a type.
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
    if (canReadEvent(types, type, reader)) continue
    const internal = `the caller cannot read the event ${type}`
    throw isWithheld(types, type, reader) ? passkeyRequired(internal) : denied(internal)
  }
}

function isWithheld(types: ReadableEvents, type: string, { audience, withPasskey }: EventReader): boolean {
  return withPasskey !== undefined && canReadEvent(types, type, { audience, permissions: withPasskey })
}
