import { expect, test } from 'vitest'
import { openWhenBack, type StoreWait } from '../../src/platform/store-wait.ts'
import { createMovableDurations } from '../harness/durations.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const isAway = (error: unknown): boolean => error === refused

function world() {
  const durations = createMovableDurations()
  durations.stop()
  const [reported, interruption] = [[] as unknown[], new AbortController()]
  const wait: StoreWait = {
    durations,
    onAway: (store, error) => reported.push([store, error]),
    onBack: (store) => reported.push([store, 'back']),
    whileAway: (attempts) => attempts(interruption.signal),
  }
  return { durations, reported, interruption, wait }
}

/** Opens after this number of failures. */
function storeAfter(failures: number, error: unknown = refused) {
  const close = async (): Promise<void> => {
    store.closed += 1
  }
  const store = { attempts: 0, closed: 0, close }
  const open = async () => {
    store.attempts += 1
    if (store.attempts <= failures) throw error
    return store
  }
  return { store, open }
}

const turn = () => new Promise(setImmediate)

test('openWhenBack: tries again with pauses that double, up to five seconds', async () => {
  const { durations, reported, wait } = world()
  const { store, open } = storeAfter(8)
  const opening = openWhenBack('redis', open, isAway, wait)
  const pauses: number[] = []
  for (let attempt = 1; attempt <= 8; attempt++) {
    let waited = 0
    for (; store.attempts <= attempt; waited += 250) {
      await turn()
      durations.skip(250)
      await turn()
    }
    pauses.push(waited)
  }
  expect(await opening).toBe(store)
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000])
  expect(reported).toEqual([...Array.from({ length: 8 }, () => ['redis', refused]), ['redis', 'back']])
  expect(store.closed).toBe(0)
})

test.each([
  ['a permanent error', true, new Error('WRONGPASS')],
  ['a store that is away, without a wait', false, refused],
])('openWhenBack: %s rejects after one attempt', async (_name, waits, error) => {
  const { wait, reported } = world()
  const { store, open } = storeAfter(1, error)
  await expect(openWhenBack('redis', open, isAway, waits ? wait : null)).rejects.toBe(error)
  expect([store.attempts, reported]).toEqual([1, []])
})

test('openWhenBack: an error that becomes permanent ends the wait', async () => {
  const { durations, wait } = world()
  const wrong = new Error('WRONGPASS')
  const errors = [refused, wrong]
  const opening = openWhenBack('redis', () => Promise.reject(errors.shift()), isAway, wait)
  await turn()
  durations.skip(250)
  await expect(opening).rejects.toBe(wrong)
})

test('openWhenBack: a signal ends the pause, and a store that opens after it is closed', async () => {
  const first = world()
  const opening = openWhenBack('redis', storeAfter(1).open, isAway, first.wait)
  await turn()
  first.interruption.abort(new Error('SIGTERM'))
  await expect(opening).rejects.toThrow('SIGTERM')
  expect(first.durations.timers()).toBe(0)

  const second = world()
  const { store, open } = storeAfter(1)
  const late = openWhenBack(
    'redis',
    async () => {
      if (store.attempts > 0) second.interruption.abort(new Error('SIGTERM'))
      return open()
    },
    isAway,
    second.wait,
  )
  await turn()
  second.durations.skip(250)
  await expect(late).rejects.toThrow('SIGTERM')
  expect(store.closed).toBe(1)
})
