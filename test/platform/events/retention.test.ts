import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { timestamptz } from '../../../src/database/index.ts'
import { addMs, days, hours } from '../../../src/kernel/index.ts'
import { endsOfFeed, expiredEventCleanup } from '../../../src/platform/events/index.ts'
import { listPartitions } from '../../../src/platform/partitions/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { addNote, clearEvents, clock, createSequencer, noteMapper, notesIn } from './fixture.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('retention of events on $name', ({ database }) => {
  beforeEach(() => clearEvents(database))

  const lost: number[] = []
  const sources = createSequencer(database).sequencer.sources
  const clean = () => {
    const onLost = (count: number) => void lost.push(count)
    const job = expiredEventCleanup({ database, clock, retentionMs: days(30), sources, onLost })
    return job.work({}, { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined })
  }
  const outbox = () => database.selectFrom('event_outbox').select(['source', 'failure']).orderBy('sequence').execute()

  test('an old event behind a younger one stays, so that the feed has no gap', async () => {
    const old = addMs(clock.now(), -days(31))
    await addNote(database, 'old', { at: old })
    await addNote(database, 'young')
    await addNote(database, 'set aside for a month', { at: old })
    await createSequencer(database).sequencer.sequenceAll()
    await clean()
    expect(await notesIn(database)).toEqual(['young', 'set aside for a month'])
    expect(await endsOfFeed(database, null)).toEqual({ oldest: 1, newest: 3 })
  })

  test('a change of an unknown source: set aside after an hour, deleted after the retention', async () => {
    await addNote(database, 'of a removed extension', { source: 'loans', at: addMs(clock.now(), -hours(2)) })
    await addNote(database, 'of a newer release', { source: 'loans' })
    await clean()
    const failure = expect.stringContaining('no process knows this source')
    expect(await outbox()).toEqual([
      { source: 'loans', failure },
      { source: 'loans', failure: null },
    ])
    expect(lost).toEqual([])
    clock.advance(days(30))
    await clean()
    // The second change was only set aside: its process was stopped for a month.
    expect(await outbox()).toEqual([{ source: 'loans', failure }])
    expect(lost).toEqual([1])
  })

  test('a change that was set aside is tried again by the job', async () => {
    await addNote(database, 'one')
    let isBroken = true
    const { sequencer } = createSequencer(database, {
      mappers: [
        noteMapper(() => {
          if (isBroken) throw new Error('the disk is full')
        }),
      ],
    })
    await sequencer.sequenceAll()
    isBroken = false
    expect(await sequencer.sequenceAll()).toBe(0)
    await clean()
    expect(await sequencer.sequenceAll()).toBe(1)
    expect(await notesIn(database)).toEqual(['one'])
  })

  test('a partition whose events are all old is dropped, but not before the head has passed its end', async () => {
    const at = addMs(clock.now(), -days(31))
    const insert = (position: number, instant = at) =>
      sql`INSERT INTO events VALUES (${position}, gen_random_uuid(), 'x', ${timestamptz(instant)}, 's', NULL, NULL, true, '{}')`.execute(
        database,
      )
    const names = async () => (await listPartitions(database, 'events')).map(({ name }) => name).sort()
    await insert(1)
    await insert(99_999)
    await database.updateTable('event_head').set({ position: 99_999 }).execute()
    await clean()
    expect(await names()).toEqual(['events_100000', 'events_first'])
    await insert(2, clock.now())
    await insert(100_001, at)
    await database.updateTable('event_head').set({ position: 100_001 }).execute()
    await clean()
    expect(await names()).toEqual(['events_100000', 'events_first'])
    await sql`DELETE FROM events WHERE position = 2`.execute(database)
    await clean()
    expect(await names()).toEqual(['events_100000'])
  })
})
