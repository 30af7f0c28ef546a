import type { Tx } from '../../database/index.ts'
import { type BizId, type Instant, toIso, type WorkspaceId } from '../../kernel/index.ts'

/** A committed change of a row, or an event of an extension. */
export interface Change {
  source: string
  at: Instant
  /** The kept columns before and after. Null for a new and for a deleted row. */
  old: unknown
  new: unknown
}

/** An event before it has a position. */
export interface NewEvent {
  type: string
  /** The id of the object. */
  subject: string
  /** Whose feed gets the event. Null if only operators read it. */
  workspaceId: WorkspaceId | null
  /** Whether the feed of the operators gets it. One of the events about a fact sets it. */
  forOperators: boolean
  /** The view of the audience, in the schema of the declaration. */
  data: unknown
}

/** Turns changes into events. A change that concerns nobody becomes none. */
export interface EventMapper {
  /** A table with `recordChanges`, or `orders/<order type>`. */
  source: string
  /** Reads what the record lacks through `tx`. */
  toEvents(change: Change, tx: Tx): readonly NewEvent[] | Promise<readonly NewEvent[]>
}

/** An event with its position. Positions have no gaps, and grow in the order in which events become visible. */
export interface StoredEvent extends NewEvent {
  id: BizId<'event'>
  at: Instant
  position: number
  /** The position within the workspace. */
  workspacePosition: number | null
}

/** Runs in the transaction that gives the events their positions, so that none is lost. It must not fail for one event. */
export type EventConsumer = (tx: Tx, events: readonly StoredEvent[]) => Promise<void>

/** Returns the event in the format of CloudEvents 1.0. `source` is the URL of the deployment. */
export function toCloudEvent(
  { id, type, at, subject, workspaceId, data }: Omit<StoredEvent, 'position' | 'workspacePosition' | 'forOperators'>,
  source: string,
) {
  return {
    specversion: '1.0' as const,
    id,
    source,
    type,
    time: toIso(at),
    subject,
    datacontenttype: 'application/json' as const,
    ...(workspaceId !== null && { workspacebizid: workspaceId }),
    data,
  }
}
