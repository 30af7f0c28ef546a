import type { Generated } from 'kysely'
import { type Json, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { BizId, WorkspaceId } from '../../kernel/index.ts'
import { partitionBy } from '../partitions/index.ts'

/** Committed changes that have no position yet. */
interface EventOutboxTable {
  sequence: Generated<number>
  /** The table that changed, `orders/<order type>`, or `recorded/<type>` for an event of an extension. */
  source: string
  at: Timestamp
  /** The columns that the trigger keeps. Null for a new row. */
  old: Json | null
  /** Null for a deleted row. */
  new: Json | null
  /** Why the change could not become events. It is tried again every ten minutes, and at each start. */
  failure: string | null
}

interface EventsTable {
  position: number
  bizId: BizId<'event'>
  eventType: string
  at: Timestamp
  subject: string
  /** The workspace that reads this row. Null for an event that only operators read. */
  workspaceBizId: WorkspaceId | null
  workspacePosition: number | null
  /** Whether operators read this row. Of several rows about one fact, one has it. */
  forOperators: boolean
  data: Json
}

interface EventHeadTable {
  one: Generated<boolean>
  position: Generated<number>
}

interface EventWorkspaceHeadsTable {
  workspaceBizId: WorkspaceId
  position: number
}

declare module '../../database/tables.ts' {
  interface Tables {
    event_outbox: EventOutboxTable
    events: EventsTable
    event_head: EventHeadTable
    event_workspace_heads: EventWorkspaceHeadsTable
  }
}

/**
 * See docs/decisions/0091-events.md. A trigger sees every statement that changes a row, so no command can forget its
 * event.
 */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE event_outbox (
      sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      source text NOT NULL,
      at timestamptz NOT NULL,
      old jsonb,
      new jsonb,
      failure text,
      CHECK (old IS NOT NULL OR new IS NOT NULL)
    )`,
    `CREATE TABLE events (
      position bigint PRIMARY KEY,
      biz_id uuid NOT NULL UNIQUE,
      event_type text NOT NULL,
      at timestamptz NOT NULL,
      subject text NOT NULL,
      workspace_biz_id uuid,
      workspace_position bigint,
      for_operators boolean NOT NULL,
      data jsonb NOT NULL,
      UNIQUE (workspace_biz_id, workspace_position),
      CHECK ((workspace_biz_id IS NULL) = (workspace_position IS NULL))
    )`,
    // Many changes that were set aside must not slow the poll.
    `CREATE INDEX event_outbox_waiting ON event_outbox (sequence) WHERE failure IS NULL`,
    `CREATE TABLE event_head (one boolean PRIMARY KEY DEFAULT true CHECK (one), position bigint NOT NULL DEFAULT 0)`,
    `INSERT INTO event_head DEFAULT VALUES`,
    `CREATE TABLE event_workspace_heads (workspace_biz_id uuid PRIMARY KEY, position bigint NOT NULL)`,
    // Argument: the columns to keep, as an array. The triggers know which changes count. A change that keeps `updated_at`
    // happens now.
    `CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      v_kept text[] := TG_ARGV[0];
      v_old jsonb;
      v_new jsonb;
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        v_old := (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(OLD)) WHERE key = ANY (v_kept));
      END IF;
      IF TG_OP <> 'DELETE' THEN
        v_new := (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(NEW)) WHERE key = ANY (v_kept));
      END IF;
      INSERT INTO event_outbox (source, at, old, new)
      VALUES (TG_TABLE_NAME, coalesce(
        CASE WHEN v_new->'updated_at' IS DISTINCT FROM v_old->'updated_at' THEN (v_new->>'updated_at')::timestamptz END,
        clock_timestamp()), v_old, v_new);
      RETURN NULL;
    END $$`,
  ]),
  // Ranges of positions keep a position unique. The other keys hold across partitions by this trigger: writers of events
  // hold the lock of event_head.
  sqlMigration('002-partitions', [
    `CREATE FUNCTION events_unique() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM inserted i JOIN events e ON e.biz_id = i.biz_id AND e.position <> i.position)
         OR EXISTS (SELECT FROM inserted i JOIN events e ON e.workspace_biz_id = i.workspace_biz_id
           AND e.workspace_position = i.workspace_position AND e.position <> i.position) THEN
        RAISE EXCEPTION 'an event has an id or a position in its workspace twice' USING ERRCODE = 'unique_violation';
      END IF;
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER events_unique AFTER INSERT ON events
      REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION events_unique()`,
    ...partitionBy('events', 'position'),
  ]),
]

type RowChange = 'INSERT' | 'UPDATE' | 'DELETE'

/**
 * The triggers that record new rows and changes of `watched` columns, or other `changes`. They cost nothing if a
 * statement does not set a watched column. `kept` are the columns of the record: never a secret or its digest.
 */
export function recordChanges(
  table: string,
  watched: readonly string[],
  kept: readonly string[],
  changes: readonly RowChange[] = ['INSERT', 'UPDATE'],
): string[] {
  const record = `FOR EACH ROW EXECUTE FUNCTION record_change('{${kept.join(',')}}')`
  const isChanged = watched.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(' OR ')
  const triggers = {
    INSERT: `CREATE TRIGGER ${table}_created_event AFTER INSERT ON ${table} ${record}`,
    UPDATE: `CREATE TRIGGER ${table}_changed_event AFTER UPDATE OF ${watched.join(', ')} ON ${table}
      ${record.replace('EXECUTE', `WHEN (${isChanged}) EXECUTE`)}`,
    DELETE: `CREATE TRIGGER ${table}_deleted_event AFTER DELETE ON ${table} ${record}`,
  }
  return changes.map((change) => triggers[change])
}
