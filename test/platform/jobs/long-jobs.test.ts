import { afterAll, expect, test } from 'vitest'
import { createJobRunner, enqueueJob } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { testClock } from '../../identity/clock.ts'
import { embeddedStore } from '../../ledger/stores.ts'

const store = await embeddedStore()
afterAll(store.close)

test('long jobs: one worker stays reserved for other kinds', async () => {
  const { database } = store
  const clock = testClock()
  const started: string[] = []
  const ends: (() => void)[] = []
  const runner = createJobRunner({
    database,
    clock,
    ids,
    settings: { concurrency: 2, pollMs: 10, leaseMs: 60_000 },
    onDropped: () => undefined,
    kinds: [
      {
        name: 'long',
        attempts: 1,
        isLong: true,
        work: async () => {
          started.push('long')
          await new Promise<void>((resolve) => ends.push(resolve))
        },
      },
      { name: 'short', attempts: 1, work: async () => void started.push('short') },
    ],
    onFailure: ({ error }) => expect.unreachable(String(error)),
  })
  for (const kind of ['long', 'long', 'short', 'short']) {
    await enqueueJob(database, ids, { kind, payload: {}, at: clock.now() })
    clock.advance(1)
  }
  await runner.start()
  await expect.poll(() => started).toEqual(['long', 'short', 'short'])
  for (const end of ends) end()
  await expect.poll(() => started).toEqual(['long', 'short', 'short', 'long'])
  for (const end of ends) end()
  await runner.stop()
  expect(await database.selectFrom('jobs').selectAll().execute()).toEqual([])
})
