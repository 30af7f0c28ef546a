import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { inTransaction } from '../../../src/database/index.ts'
import { insertRecorded } from '../../../src/platform/events/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createDatabaseError } from './database-error.ts'
import { addNote, clearEvents, clock, createSequencer, noteMapper, notesIn } from './fixture.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('sequencer on $name', ({ name, database }) => {
  beforeEach(() => clearEvents(database))

  const add = async (...notes: string[]) => {
    for (const note of notes) await addNote(database, note)
  }
  const failures = async () => {
    const found = await database.selectFrom('event_outbox').select('failure').orderBy('sequence').execute()
    return found.map(({ failure }) => failure)
  }

  test('positions: without gaps, in the order of the changes, and once', async () => {
    await add('one', 'two', 'three')
    const { sequencer } = createSequencer(database)
    expect([await sequencer.sequenceAll(), await sequencer.sequenceAll()]).toEqual([3, 0])
    const found = await database.selectFrom('events').select(['position', 'subject']).orderBy('position').execute()
    expect(found.map(({ position, subject }) => [position, subject])).toEqual([
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ])
    expect(await failures()).toEqual([])
  })

  test('a mapper that throws: its change is set aside, the others become events', async () => {
    await add('one', 'bad', 'three')
    const bad = noteMapper((note) => {
      if (note === 'bad') throw new TypeError('no view')
    })
    const { sequencer, setAside } = createSequencer(database, { mappers: [bad] })
    await sequencer.sequenceAll()
    expect(await notesIn(database)).toEqual(['one', 'three'])
    expect([await failures(), setAside]).toEqual([['no view'], ['notes: TypeError: no view']])
  })

  test('a mapper whose statement fails: its change is set aside, the others become events', async () => {
    await add('one', 'bad', 'three')
    const bad = noteMapper(async (note, tx) => {
      if (note === 'bad') await sql`SELECT 1 / 0`.execute(tx)
    })
    const { sequencer, setAside } = createSequencer(database, { mappers: [bad] })
    await sequencer.sequenceAll()
    expect(await notesIn(database)).toEqual(['one', 'three'])
    expect([await failures(), setAside.length]).toEqual([['division by zero'], 1])
  })

  test('a mapper that hides the error of its statement: as well', async () => {
    await add('one', 'bad', 'three')
    const bad = noteMapper(async (note, tx) => {
      if (note === 'bad')
        await sql`SELECT 1 / 0`.execute(tx).catch(() => {
          throw new TypeError('no view')
        })
    })
    const { sequencer } = createSequencer(database, { mappers: [bad] })
    await sequencer.sequenceAll()
    expect(await notesIn(database)).toEqual(['one', 'three'])
    expect(await failures()).toHaveLength(1)
  })

  test('data that no jsonb can hold: its change is set aside, the others become events', async () => {
    await add('one', 'bad', 'three')
    const mapper = noteMapper()
    const bad = {
      ...mapper,
      toEvents: async (change: Parameters<typeof mapper.toEvents>[0], tx: Parameters<typeof mapper.toEvents>[1]) =>
        (await mapper.toEvents(change, tx)).map((event) =>
          event.subject === 'bad' ? { ...event, data: { note: '\ud800', workspace: null } } : event,
        ),
    }
    const { sequencer } = createSequencer(database, { mappers: [bad] })
    await sequencer.sequenceAll()
    expect(await notesIn(database)).toEqual(['one', 'three'])
    expect(await failures()).toHaveLength(1)
  })

  test('a consumer that throws for one event: its change is set aside, the others become events', async () => {
    await add('one', 'bad', 'three')
    const { sequencer, setAside } = createSequencer(database, {
      consumers: [
        async (_, events) => {
          if (events.some(({ subject }) => subject === 'bad')) throw new Error('no endpoint')
        },
      ],
    })
    await sequencer.sequenceAll()
    expect(await notesIn(database)).toEqual(['one', 'three'])
    expect([await failures(), setAside]).toEqual([['no endpoint'], ['notes: Error: no endpoint']])
  })

  test('a store that is unavailable: nothing is set aside until one change has failed 10 times alone', async () => {
    await add('bad', 'two')
    let attempts = 0
    const { sequencer, setAside } = createSequencer(database, {
      consumers: [
        async (_, events) => {
          attempts += 1
          if (events.some(({ subject }) => subject === 'bad')) throw createDatabaseError('57014')
        },
      ],
    })
    for (let failed = 0; failed < 9; failed++) await expect(sequencer.sequenceAll()).rejects.toThrow('57014')
    expect([await failures(), setAside]).toEqual([[null, null], []])
    await sequencer.sequenceAll()
    expect([await notesIn(database), await failures(), attempts]).toEqual([['two'], ['57014'], 12])
  })

  test('a serialization failure: the batch is repeated, and nothing is set aside', async () => {
    await add('one', 'two')
    let attempts = 0
    const { sequencer, setAside } = createSequencer(database, {
      consumers: [
        async () => {
          attempts += 1
          if (attempts === 1) throw createDatabaseError('40001')
        },
      ],
    })
    expect(await sequencer.sequenceAll()).toBe(2)
    expect([await notesIn(database), attempts, setAside]).toEqual([['one', 'two'], 2, []])
  })

  test('a connection that ends in the transaction: each change becomes one event later', async () => {
    await add('one', 'two')
    let attempts = 0
    const { sequencer, setAside } = createSequencer(database, {
      consumers: [
        async (tx) => {
          attempts += 1
          // The embedded store has no connections to end.
          if (attempts === 1 && name === 'PGlite') throw createDatabaseError('57P01')
          if (attempts === 1) await sql`SELECT pg_terminate_backend(pg_backend_pid())`.execute(tx)
        },
      ],
    })
    await sequencer.sequenceAll()
    expect([await notesIn(database), setAside]).toEqual([['one', 'two'], []])
    const found = await database.selectFrom('events').select('position').orderBy('position').execute()
    expect(found.map(({ position }) => position)).toEqual([1, 2])
  })

  test('start: tries again what was set aside, at its place in the order', async () => {
    await add('one', 'two')
    const broken = createSequencer(database, {
      mappers: [
        noteMapper((note) => {
          if (note === 'one') throw new Error('a bug')
        }),
      ],
    })
    await broken.sequencer.sequenceAll()
    await add('three')
    const { sequencer } = createSequencer(database)
    await sequencer.start()
    await expect.poll(() => notesIn(database)).toEqual(['two', 'one', 'three'])
    await sequencer.stop()
  })

  test('changes of an unknown source: stay, and delay nothing', async () => {
    await addNote(database, 'of a newer release', { source: 'loans' })
    await add('one')
    const { sequencer } = createSequencer(database)
    await sequencer.sequenceAll()
    expect([await notesIn(database), await failures()]).toEqual([['one'], [null]])
  })

  test('an event that a newer release records by hand: waits for a process that declares its type', async () => {
    const record = (type: string, note: string) =>
      inTransaction(database, (tx) => {
        const data = { note, workspace: null }
        return insertRecorded(tx, clock.now(), { type, subject: note, workspaceId: null, forOperators: true, data })
      })
    await record('note.archived', 'one')
    await record('note.added', 'two')
    const older = createSequencer(database)
    await older.sequencer.sequenceAll()
    expect([await notesIn(database), await failures(), older.setAside]).toEqual([['two'], [null], []])
    const newer = createSequencer(database, { schemas: new Map([['note.archived', z.unknown()]]) })
    await newer.sequencer.sequenceAll()
    expect([await notesIn(database), await failures()]).toEqual([['two', 'one'], []])
  })

  test('a batch of many changes: in batches, each event once', async () => {
    const rows = sql`SELECT 'notes', now(), jsonb_build_object('note', n::text, 'workspace', null)
      FROM generate_series(1, 1201) AS n`
    await sql`INSERT INTO event_outbox (source, at, new) ${rows}`.execute(database)
    let sequenced = 0
    const { sequencer } = createSequencer(database, { onSequenced: () => (sequenced += 1) })
    expect(await sequencer.sequenceAll()).toBe(1_201)
    expect(await notesIn(database)).toEqual(Array.from({ length: 1_201 }, (_, index) => String(index + 1)))
    expect(sequenced).toBe(3)
  })
})
