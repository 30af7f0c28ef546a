import { type AliasedRawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import {
  batch,
  type Database,
  type Param,
  query,
  rawQuery,
  run,
  statement,
  type Tables,
  type Tx,
  timestamptz,
} from '../../database/index.ts'
import { type Instant, toDate, toIso, type WorkspaceId } from '../../kernel/index.ts'
import type { Change, NewEvent, StoredEvent } from './event.ts'

/** The source of an event that a domain has recorded itself. A process that does not declare its type leaves it to others. */
export function recordedSourceOf(type: string): string {
  return `recorded/${type}`
}

export interface OutboxChange extends Change {
  sequence: number
}

/** One indexed read. */
const waiting = statement<{ sources: readonly string[] }, { sequence: number }>((store, param) =>
  store
    .selectFrom('event_outbox')
    .select('sequence')
    .where('failure', 'is', null)
    .where(sql<boolean>`source = ANY(${param('sources')})`)
    .limit(1),
)

export async function hasChanges(database: Database, sources: readonly string[]): Promise<boolean> {
  return (await waiting.first(database, { sources })) !== undefined
}

/**
 * Locks the head, and returns the position of the newest event and the oldest changes. Returns undefined while another
 * replica holds the lock. The second statement starts after the first, so it sees what the last holder committed.
 */
export async function lockChanges(
  tx: Tx,
  sources: readonly string[],
  limit: number,
): Promise<{ head: number; changes: OutboxChange[] } | undefined> {
  const [head, changes] = await batch(tx, [
    query((store) => store.selectFrom('event_head').select('position').forUpdate().skipLocked()).first(),
    query((store) =>
      store
        .selectFrom('event_outbox')
        .select(['sequence', 'source', 'at', 'old', 'new'])
        .where('failure', 'is', null)
        .where(sql<boolean>`source = ANY(${sources})`)
        .orderBy('sequence')
        .limit(limit),
    ),
  ])
  return head && { head: head.position, changes }
}

/** A change that could not become events. */
export interface FailedChange {
  sequence: number
  failure: string
}

/** Keeps the changes in the outbox, where they do not delay others. */
export async function setAside(store: Database | Tx, changes: readonly FailedChange[]): Promise<void> {
  await sql`UPDATE event_outbox o SET failure = c.failure
    FROM jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) AS c (sequence bigint, failure text)
    WHERE o.sequence = c.sequence`.execute(store)
}

/** Sets aside changes that no process has known since `before`: their extension was removed, or their domain is off. */
export async function setAsideUnknown(
  database: Database,
  { sources, before, failure }: { sources: readonly string[]; before: Instant; failure: string },
): Promise<void> {
  await database
    .updateTable('event_outbox')
    .set({ failure })
    .where('failure', 'is', null)
    .where(sql<boolean>`source <> ALL(${sources})`)
    .where('at', '<', timestamptz(before))
    .execute()
}

/** Lets the sequencer try changes of known sources again. They keep their place in the order. */
export async function retryFailed(database: Database, sources: readonly string[], limit: number): Promise<void> {
  const failed = database
    .selectFrom('event_outbox')
    .select('sequence')
    .where('failure', 'is not', null)
    .where(sql<boolean>`source = ANY(${sources})`)
    .orderBy('sequence')
    .limit(limit)
  await database.updateTable('event_outbox').set({ failure: null }).where('sequence', 'in', failed).execute()
}

/** Deletes changes that were never more than set aside. Returns their number. */
export async function deleteFailed(database: Database, before: Instant, limit: number): Promise<number> {
  const old = database.selectFrom('event_outbox').select('sequence').where('failure', 'is not', null)
  const deleted = await database
    .deleteFrom('event_outbox')
    .where('sequence', 'in', old.where('at', '<', timestamptz(before)).limit(limit))
    .returning('sequence')
    .execute()
  return deleted.length
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

/** Replaces changes by their events. The caller must hold the lock. */
export async function insertEvents(tx: Tx, events: readonly StoredEvent[], done: readonly number[]): Promise<void> {
  const last = events.at(-1)
  const removed = query((store) => store.deleteFrom('event_outbox').where(sql<boolean>`sequence = ANY(${done})`))
  // One parameter, because a statement has at most 65,535.
  const rows = JSON.stringify(events.map(({ at, ...event }) => ({ ...event, at: toIso(at) })))
  const added = rawQuery(sql`
    INSERT INTO events (position, biz_id, event_type, at, subject, workspace_biz_id, workspace_position, for_operators, data)
    SELECT e.position, e.id, e.type, e.at, e.subject, e."workspaceId", e."workspacePosition", e."forOperators", e.data
      FROM jsonb_to_recordset(${rows}::jsonb) AS e (position bigint, id uuid, type text, at timestamptz, subject text,
        "workspaceId" uuid, "workspacePosition" bigint, "forOperators" boolean, data jsonb)`)
  if (!last) await run(tx, removed)
  else
    await batch(tx, [
      removed,
      added,
      query((store) => store.updateTable('event_head').set({ position: last.position })),
    ])
}

export async function insertRecorded(tx: Tx, at: Instant, event: NewEvent): Promise<void> {
  const values = {
    source: recordedSourceOf(event.type),
    at: toDate(at),
    old: null,
    new: JSON.stringify(event),
    failure: null,
  }
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

/** Returns the events of a feed after a position, in order. */
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

export async function headPosition(database: Database): Promise<number> {
  return (await database.selectFrom('event_head').select('position').executeTakeFirst())?.position ?? 0
}

const tail = statement(
  (store, param: Param<{ after: number; workspaces: WorkspaceId[]; isForOperators: boolean; limit: number }>) =>
    store
      .selectFrom('event_head as head')
      .leftJoin('events', (join) =>
        join.on(sql<SqlBool>`events.position > ${param('after')}::bigint`).on(
          sql<SqlBool>`(events.workspace_biz_id = ANY (${param('workspaces')}::uuid[])
              OR events.for_operators AND ${param('isForOperators')}::boolean)`,
        ),
      )
      .select(['head.position as headPosition', ...columns.map((name) => `events.${name}` as const)])
      .orderBy('events.position')
      .limit(param('limit')),
)

/**
 * Returns the events of several feeds after a position, in order, and the position up to which none is missing. The events
 * of the operators' feed are marked.
 */
export async function readTail(
  database: Database,
  feeds: readonly Feed[],
  after: number,
  limit: number,
): Promise<{ events: StoredEvent[]; position: number }> {
  const workspaces = feeds.filter((feed) => feed !== null)
  const rows = await tail.all(database, { after, workspaces, isForOperators: feeds.includes(null), limit })
  const events = rows.flatMap(({ headPosition: _, ...row }) => (row.position === null ? [] : [row as StoredEvent]))
  const last = events.at(-1)
  return { events, position: last && events.length === limit ? last.position : (rows[0]?.headPosition ?? after) }
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

/**
 * Deletes the oldest events up to the first one that is young enough, so that a feed never has a gap. Returns their number.
 */
export async function deleteEvents(database: Database, before: Instant, limit: number): Promise<number> {
  const oldest = database.selectFrom('events').select(['position', 'at']).orderBy('position').limit(limit)
  const old = database
    .selectFrom(oldest.as('oldest'))
    .select(['position', sql<boolean>`bool_and(at < ${timestamptz(before)}) OVER (ORDER BY position)`.as('isOld')])
  const deleted = await database
    .deleteFrom('events')
    .where('position', 'in', (eb) => eb.selectFrom(old.as('old')).select('old.position').where('old.isOld', '=', true))
    .returning('position')
    .execute()
  return deleted.length
}

/**
 * How many changes of these sources wait, how many are set aside, and when the oldest waiting one happened. A domain that
 * is off may have further sources.
 */
export async function outboxState(
  database: Database,
  sources: readonly string[],
): Promise<{ waiting: number; failed: number; since: Instant | null }> {
  const state = await database
    .selectFrom('event_outbox')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('failure', 'is', null).as('waiting'),
      eb.fn.countAll<number>().filterWhere('failure', 'is not', null).as('failed'),
      eb.fn.min<Instant | null>('at').filterWhere('failure', 'is', null).as('since'),
    ])
    .where('source', 'in', sources)
    .executeTakeFirstOrThrow()
  return state
}

/**
 * The record of a change as a row of its table, for the queries of a mapper. A column that the record does not keep is
 * null.
 */
export function recordAs<Name extends keyof Tables & string, Alias extends string>(
  table: Name,
  record: unknown,
  alias: Alias,
): AliasedRawBuilder<Selectable<Tables[Name]>, Alias> {
  const row = sql<Selectable<Tables[Name]>>`jsonb_populate_record(NULL::${sql.table(table)}, ${JSON.stringify(record)})`
  return row.as<Alias>(alias)
}
