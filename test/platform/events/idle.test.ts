import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { needsPostgres } from '../../harness/needs.ts'
import { migratedDatabase, openServer } from '../../harness/prepared-postgres.ts'
import { startRoundTripCounter } from '../../harness/round-trips.ts'
import { addNote, createSequencer, notesIn } from './fixture.ts'

const copy = await migratedDatabase()
afterAll(() => copy?.drop())

test(
  'an idle outbox costs 2 statements a second, and shows a change of another process within one',
  needsPostgres(copy),
  async () => {
    if (!copy) throw new Error('no store')
    const url = new URL(copy.url)
    const counter = await startRoundTripCounter(Number(url.port), true)
    url.port = String(counter.port)
    const counted = await openServer(url.href, 2)
    const other = await openServer(copy.url, 2)
    const { sequencer } = createSequencer(counted.database)
    try {
      await sequencer.start()
      await pause(600)
      const before = counter.statements
      await pause(3_000)
      const idle = counter.statements - before
      expect(idle).toBeGreaterThanOrEqual(5)
      expect(idle).toBeLessThanOrEqual(7)
      await addNote(other.database, 'one')
      await expect.poll(() => notesIn(other.database), { timeout: 1_000 }).toEqual(['one'])
    } finally {
      await sequencer.stop()
      await counted.close()
      await other.close()
      await counter.close()
    }
  },
)
