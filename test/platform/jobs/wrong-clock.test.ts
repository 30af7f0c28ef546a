import { afterAll, describe, expect, test } from 'vitest'
import { addMs, type Clock } from '../../../src/kernel/index.ts'
import { createJobRunner } from '../../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../../src/platform/runtime/index.ts'
import { testClock } from '../../identity/clock.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('a replica with a wrong clock on $name', ({ database }) => {
  test('leaves recurring jobs to the other replicas, and does not postpone them', async () => {
    await database.deleteFrom('jobs').execute()
    const clock = testClock()
    const fast: Clock = { now: () => addMs(clock.now(), 10_000) }
    const runs: string[] = []
    const runnerOf = (name: string, at: Clock, canRecur: boolean) =>
      createJobRunner({
        ...{ database, clock: at, ids, settings: { pollMs: 600_000, leaseMs: 60_000 } },
        kinds: [{ name: 'expiry', attempts: 1, everyMs: 1_000, work: async () => void runs.push(name) }],
        canRecur: () => canRecur,
        onFailure: () => undefined,
        onDropped: () => undefined,
      })
    const [wrong, right] = [runnerOf('wrong', fast, false), runnerOf('right', clock, true)]
    await right.start()
    await wrong.start()
    for (let turn = 1; turn <= 3; turn++) {
      expect([await wrong.runOne(), await right.runOne()]).toEqual([false, true])
      clock.advance(1_000)
    }
    expect(runs).toEqual(['right', 'right', 'right'])
    await Promise.all([wrong.stop(), right.stop()])
  })
})
