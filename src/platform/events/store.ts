import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type BizId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { Change, StoredEvent } from './event.ts'

/** The source of events that extensions record themselves. */
export const recordedSource = 'recorded'

export interface OutboxChange extends Change {
  sequence: number
}

export async function hasChanges(database: Database, sources: readonly string[]): Promise<boolean> {
  const found = database.selectFrom('event_outbox').select('sequence').where('failure', 'is', null)
  return (await found.where('source', 'in', sources).limit(1).executeTakeFirst()) !== undefined
}

/** Returns undefined while another replica holds the lock. */
export async function lockHead(tx: Tx): Promise<number | undefined> {
  const head = await tx.selectFrom('event_head').select('position').forUpdate().skipLocked().executeTakeFirst()
  return head?.position
}

/** Removes the oldest changes from the outbox. The caller must hold the lock. */
export async function takeChanges(tx: Tx, sources: readonly string[], limit: number): Promise<OutboxChange[]> {
  const oldest = tx
    .selectFrom('event_outbox')
    .select('sequence')
    .where('failure', 'is', null)
    .where('source', 'in', sources)
    .orderBy('sequence')
    .limit(limit)
  const taken = await tx
    .deleteFrom('event_outbox')
    .where('sequence', 'in', oldest)
    .returning(['sequence', 'source', 'at', 'old', 'new'])
    .execute()
  return taken.toSorted((one, other) => one.sequence - other.sequence)
}

/** Keeps a change that could not become events. */
export async function setAside(tx: Tx, { source, at, old, new: after }: OutboxChange, failure: string): Promise<void> {
  const values = { source, at: toDate(at), old: jsonOrNull(old), new: jsonOrNull(after), failure }
  await tx.insertInto('event_outbox').values(values).execute()
}

/** Lets the sequencer try the changes again that failed. */
export async function retryFailed(database: Database): Promise<void> {
  await database.updateTable('event_outbox').set({ failure: null }).where('failure', 'is not', null).execute()
}

/** Reserves positions in workspaces. Returns the position before the first of them. */
export async function advanceWorkspaces(
  tx: Tx,
  counts: ReadonlyMap<WorkspaceId, number>,
): Promise<ReadonlyMap<WorkspaceId, number>> {
  if (counts.size === 0) return new Map()
  const heads = await tx
    .insertInto('event_workspace_heads')
    .values([...counts].map(([workspaceBizId, position]) => ({ workspaceBizId, position })))
    .onConflict((conflict) =>
      conflict
        .column('workspaceBizId')
        .doUpdateSet({ position: sql<number>`event_workspace_heads.position + excluded.position` }),
    )
    .returning(['workspaceBizId', 'position'])
    .execute()
  return new Map(
    heads.map(({ workspaceBizId, position }) => [workspaceBizId, position - (counts.get(workspaceBizId) ?? 0)]),
  )
}

export async function insertEvents(tx: Tx, events: readonly StoredEvent[]): Promise<void> {
  const last = events.at(-1)
  if (!last) return
  const rows = events.map(({ id, type, workspaceId, data, at, ...event }) => ({
    ...event,
    bizId: id,
    eventType: type,
    at: toDate(at),
    workspaceBizId: workspaceId,
    data: JSON.stringify(data),
  }))
  await tx.insertInto('events').values(rows).execute()
  await tx.updateTable('event_head').set({ position: last.position }).execute()
}

export async function insertRecorded(tx: Tx, at: Instant, event: object): Promise<void> {
  const values = { source: recordedSource, at: toDate(at), old: null, new: JSON.stringify(event), failure: null }
  await tx.insertInto('event_outbox').values(values).execute()
}

const columns = [
  'position',
  'bizId as id',
  'eventType as type',
  'at',
  'subject',
  'workspaceBizId as workspaceId',
  'workspacePosition',
  'forOperators',
  'data',
] as const

/** Whose feed to read: that of a workspace, or null for that of the operators. */
export type Feed = WorkspaceId | null

/** Returns the events of a feed behind a position, in order. */
export async function eventsAfter(
  database: Database,
  feed: Feed,
  { after, types, limit }: { after: number; types: readonly string[]; limit: number },
): Promise<StoredEvent[]> {
  if (types.length === 0) return []
  const found = database.selectFrom('events').select(columns).where('eventType', 'in', types).limit(limit)
  return await (feed === null
    ? found.where('forOperators', '=', true).where('position', '>', after).orderBy('position').execute()
    : found
        .where('workspaceBizId', '=', feed)
        .where('workspacePosition', '>', after)
        .orderBy('workspacePosition')
        .execute())
}

/** Returns the position of the newest event of a feed, and that before the oldest one. Both are equal if none is left. */
export async function endsOfFeed(database: Database, feed: Feed): Promise<{ oldest: number; newest: number }> {
  const head =
    feed === null
      ? await database.selectFrom('event_head').select('position').executeTakeFirst()
      : await database
          .selectFrom('event_workspace_heads')
          .select('position')
          .where('workspaceBizId', '=', feed)
          .executeTakeFirst()
  const newest = head?.position ?? 0
  const first =
    feed === null
      ? await database.selectFrom('events').select('position as first').orderBy('position').limit(1).executeTakeFirst()
      : await database
          .selectFrom('events')
          .select('workspacePosition as first')
          .where('workspaceBizId', '=', feed)
          .orderBy('workspacePosition')
          .limit(1)
          .executeTakeFirst()
  return { newest, oldest: first?.first ? first.first - 1 : newest }
}

/** Returns undefined if the event was deleted. */
export async function eventAt(store: Database | Tx, position: number): Promise<StoredEvent | undefined> {
  return await store.selectFrom('events').select(columns).where('position', '=', position).executeTakeFirst()
}

/** Returns false if the reaction of the domain has taken effect before. */
export async function claimReaction(tx: Tx, id: BizId<'event'>, domain: string, at: Instant): Promise<boolean> {
  const claimed = await tx
    .insertInto('event_reactions')
    .values({ eventBizId: id, domain, at: toDate(at) })
    .onConflict((conflict) => conflict.columns(['eventBizId', 'domain']).doNothing())
    .returning('eventBizId')
    .executeTakeFirst()
  return claimed !== undefined
}

/** Deletes events in order, so that a feed loses its oldest ones only. Returns their number. */
export async function deleteEvents(database: Database, before: Instant, limit: number): Promise<number> {
  const old = database.selectFrom('events').select('position').where('at', '<', timestamptz(before)).orderBy('position')
  const deleted = await database
    .deleteFrom('events')
    .where('position', 'in', old.limit(limit))
    .returning('position')
    .execute()
  return deleted.length
}

export async function deleteReactions(database: Database, before: Instant): Promise<void> {
  await database.deleteFrom('event_reactions').where('at', '<', timestamptz(before)).execute()
}

/** How many changes wait, how many are set aside, and when the oldest waiting one happened. */
export async function outboxState(
  database: Database,
): Promise<{ waiting: number; failed: number; since: Instant | null }> {
  const state = await database
    .selectFrom('event_outbox')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('failure', 'is', null).as('waiting'),
      eb.fn.countAll<number>().filterWhere('failure', 'is not', null).as('failed'),
      eb.fn.min<Instant | null>('at').filterWhere('failure', 'is', null).as('since'),
    ])
    .executeTakeFirstOrThrow()
  return state
}

function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
