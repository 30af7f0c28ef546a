import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { bizId, type WorkspaceId } from '../../../src/kernel/index.ts'
import { eventsAfter } from '../../../src/platform/events/index.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresStore } from '../../ledger/stores.ts'
import { addNote, clearEvents, createSequencer } from './fixture.ts'

const store = await postgresStore(32)
afterAll(() => store?.close())

const workspace = bizId<'workspace'>('00000000-0000-4000-8000-000000000001')
const types = ['note.added']

describe('order of events on PostgreSQL', needsPostgres(store), () => {
  beforeEach(() => store && clearEvents(store.database))

  const open = () => {
    if (!store) throw new Error('no store')
    return store.database
  }

  /** Reads by cursor until `count` events were seen. */
  const read = async (feed: WorkspaceId | null, count: number) => {
    const database = open()
    const seen: string[] = []
    for (let after = 0; seen.length < count; ) {
      const found = await eventsAfter(database, feed, { after, types, limit: 7 })
      seen.push(...found.map(({ subject }) => subject))
      after = (feed === null ? found.at(-1)?.position : found.at(-1)?.workspacePosition) ?? after
    }
    return seen
  }

  test('a transaction that takes its number first and commits last: a reader in between misses nothing', async () => {
    const database = open()
    const { sequencer } = createSequencer(database)
    const seen: string[] = []
    await database.transaction().execute(async (tx) => {
      await addNote(tx, 'first number', { workspace })
      await addNote(database, 'second number', { workspace })
      await sequencer.sequenceAll()
      seen.push(...(await read(workspace, 1)))
    })
    await sequencer.sequenceAll()
    expect(seen).toEqual(['second number'])
    expect(await read(workspace, 2)).toEqual(['second number', 'first number'])
  })

  test('8 writers, two sequencers and two readers: each event once, no gap, writers in their order', async () => {
    const database = open()
    const sequencers = [createSequencer(database).sequencer, createSequencer(database).sequencer]
    let isWriting = true
    const sequencing = sequencers.map(async (each) => {
      while (isWriting) await each.sequenceAll()
      await each.sequenceAll()
    })
    const all = 8 * 60
    const readers = [read(null, all), read(workspace, all)]
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let count = 0; count < 60; count += 2)
        await database.transaction().execute(async (tx) => {
          await addNote(tx, `${writer}-${count}`, { workspace })
          if (writer % 2) await new Promise((resolve) => setTimeout(resolve, 3))
          await addNote(tx, `${writer}-${count + 1}`, { workspace })
        })
    })
    await Promise.all(writers)
    isWriting = false
    await Promise.all(sequencing)
    for (const seen of await Promise.all(readers)) {
      expect(new Set(seen).size).toBe(all)
      for (let writer = 0; writer < 8; writer++)
        expect(seen.filter((subject) => subject.startsWith(`${writer}-`))).toEqual(
          Array.from({ length: 60 }, (_, count) => `${writer}-${count}`),
        )
    }
    const positions = await database.selectFrom('events').select(['position', 'workspacePosition']).execute()
    const expected = Array.from({ length: all }, (_, index) => index + 1)
    expect(positions.map(({ position }) => position).toSorted((one, other) => one - other)).toEqual(expected)
    expect(positions.map((each) => each.workspacePosition ?? 0).toSorted((one, other) => one - other)).toEqual(expected)
  })
})
