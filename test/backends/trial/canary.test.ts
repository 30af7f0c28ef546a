import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { CanaryReturn } from '../../../src/backends/index.ts'
import { createTrialMetrics, TrialBook } from '../../../src/backends/index.ts'
import { Canary } from '../../../src/backends/trial/canary.ts'
import { place } from '../../../src/config/backends.ts'
import { createLocalPubSub, type PubSub } from '../../../src/platform/pubsub.ts'
import { createMovableDurations } from '../../harness/durations.ts'
import { testClock } from '../../identity/clock.ts'

function trialOf(settings: object = {}) {
  const { canary } = place.parse({
    url: 'in-process',
    canary: { url: 'http://10.0.0.6', maxErrorShare: 0.5, minRequests: 4, windowMs: 10_000, ...settings },
  })
  return canary ?? expect.fail()
}

function recorded(outcomes: string, settings: object = {}) {
  const durations = createMovableDurations()
  durations.stop()
  const returns: CanaryReturn[] = []
  const canary = new Canary(trialOf(settings), durations, (returned) => returns.push(returned))
  for (const outcome of outcomes) {
    if (outcome === '.') durations.skip(5_000)
    else canary.record(/[A-Z]/i.test(outcome) && outcome !== 'x' ? outcome.toLowerCase() : 'x', /[xA-Z]/.test(outcome))
  }
  return { returns, canary }
}

test.each<[string, string, boolean]>([
  ['three failures are fewer than minRequests', 'xxx', false],
  ['four failures', 'xxxx', true],
  ['half of the requests is the bound', 'xx--', false],
  ['more than half', '--xxx', true],
  ['failures in the previous half of the window', 'xxx.x', true],
  ['failures before the window', 'xxx..x', false],
  // A letter is another caller, whose request fails if it is a capital.
  ['the failures of one caller do not affect others', 'abxxxxxx', false],
  ['nor do they if another caller has failed, too, below the bound', 'Abcxxxxxx', false],
  ['half of the requests of another caller', 'aAxxxxxx', false],
  ['most of the other callers', 'aBCD', true],
])('%s: %s', (_name, outcomes, isReturned) => {
  const { returns, canary } = recorded(outcomes)
  expect([returns.length, canary.isReturned]).toEqual([isReturned ? 1 : 0, isReturned])
})

test('a canary returns once, and successes do not resume it', () => {
  const { returns, canary } = recorded('xxxx----.--..xxxx')
  expect(returns).toEqual([{ url: 'http://10.0.0.6', requests: 4, failures: 4 }])
  expect(canary.isReturned).toBe(true)
})

function replica(pubsub: PubSub) {
  const durations = createMovableDurations()
  durations.stop()
  const returns: boolean[] = []
  const metrics = createTrialMetrics(new Registry())
  const onReturn = (_returned: CanaryReturn, isOwn: boolean) => void returns.push(isOwn)
  return { durations, returns, book: new TrialBook({ clock: testClock(), durations, pubsub, metrics, onReturn }) }
}

function fail({ book }: ReturnType<typeof replica>, settings = trialOf()) {
  for (let times = 0; times < 4; times++) book.canaryOf(settings).record('x', true)
}

test('replicas: one decides, the others follow, and one that starts later asks', () => {
  const pubsub = createLocalPubSub()
  const [first, second] = [replica(pubsub), replica(pubsub)]
  for (const { book } of [first, second]) book.canaryOf(trialOf())
  fail(first)
  expect([first.returns, second.returns]).toEqual([[true], [false]])
  expect(second.book.canaryOf(trialOf()).isReturned).toBe(true)
  const late = replica(pubsub)
  expect(late.book.canaryOf(trialOf()).isReturned).toBe(true)
  expect([first.returns, late.returns]).toEqual([[true], [false]])
})

test('replicas: one whose first question was lost asks again after a second', () => {
  const pubsub = createLocalPubSub()
  const first = replica(pubsub)
  fail(first)
  let isConnected = false
  const late = replica({ ...pubsub, publish: (topic, text) => isConnected && pubsub.publish(topic, text) })
  expect(late.book.canaryOf(trialOf()).isReturned).toBe(false)
  isConnected = true
  late.durations.skip(1_000)
  expect(late.book.canaryOf(trialOf()).isReturned).toBe(true)
})

test('a canary with other settings is a new one, and a removed one is forgotten', () => {
  const one = replica(createLocalPubSub())
  fail(one)
  const retain = (...canaries: ReturnType<typeof trialOf>[]) =>
    one.book.retain(canaries.map((canary) => ({ canary, shadow: null })))
  retain(trialOf())
  expect(one.book.canaryOf(trialOf()).isReturned).toBe(true)
  expect(one.book.canaryOf(trialOf({ share: 0.2 })).isReturned).toBe(false)
  retain()
  expect(one.book.canaryOf(trialOf()).isReturned).toBe(false)
})

test.each(['', 'null', '[]', '{"kind":"returned"}', '{"kind":"returned","canary":{}}'])(
  'a message of another version is ignored: %s',
  (text) => {
    const pubsub = createLocalPubSub()
    const one = replica(pubsub)
    one.book.canaryOf(trialOf())
    pubsub.publish('canaries', text)
    expect(one.returns).toEqual([])
  },
)
