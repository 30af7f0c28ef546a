import { z } from 'zod'
import type { Database, Tx } from '../../../src/database/index.ts'
import { type BizId, toDate } from '../../../src/kernel/index.ts'
import { type EventMapper, EventSequencer, type SequencerPorts } from '../../../src/platform/events/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { testClock } from '../../identity/clock.ts'

export const clock = testClock()

const Note = z.object({ note: z.string(), workspace: z.string().nullable() })

/** Turns a change of `notes` into one event. `fail` decides how the change fails. */
export function noteMapper(fail: (note: string, tx: Tx) => unknown = () => undefined): EventMapper {
  return {
    source: 'notes',
    toEvents: async ({ new: row }, tx) => {
      const { note, workspace } = Note.parse(row)
      await fail(note, tx)
      return [
        {
          type: 'note.added',
          subject: note,
          workspaceId: workspace as BizId<'workspace'> | null,
          forOperators: true,
          data: { note, workspace },
        },
      ]
    },
  }
}

/** Adds a change, as a trigger does. */
export async function addNote(
  store: Database | Tx,
  note: string,
  {
    source = 'notes',
    workspace = null,
    at = clock.now(),
  }: { source?: string; workspace?: string | null; at?: number } = {},
): Promise<void> {
  const values = { source, at: toDate(at as never), old: null, new: JSON.stringify({ note, workspace }), failure: null }
  await store.insertInto('event_outbox').values(values).execute()
}

export async function clearEvents(database: Database): Promise<void> {
  for (const table of ['event_outbox', 'events', 'event_workspace_heads'] as const)
    await database.deleteFrom(table).execute()
  await database.updateTable('event_head').set({ position: 0 }).execute()
}

/** A sequencer that runs only when a test calls it, and what it reported. */
export function createSequencer(database: Database, ports: Partial<SequencerPorts> = {}) {
  const setAside: string[] = []
  const faults: unknown[] = []
  const sequencer = new EventSequencer({
    database,
    ids,
    mappers: [noteMapper()],
    schemas: new Map([['note.added', Note]]),
    consumers: [],
    onSequenced: () => undefined,
    onSetAside: ({ source, error }) => setAside.push(`${source}: ${String(error)}`),
    onFault: (error) => faults.push(error),
    ...ports,
  })
  return { sequencer, setAside, faults }
}

export async function notesIn(database: Database): Promise<string[]> {
  const found = await database.selectFrom('events').select('subject').orderBy('position').execute()
  return found.map(({ subject }) => subject)
}
