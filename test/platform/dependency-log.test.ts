import { beforeEach, describe, expect, test } from 'vitest'
import { DependencyFailure, Refusal } from '../../src/kernel/index.ts'
import { createDependencyLog, faultReport, isKnownCondition, oncePerReason } from '../../src/platform/dependency-log.ts'
import { captureLog } from '../harness/log.ts'

let now = 0
const durations = { now: () => now }
beforeEach(() => {
  now = 0
})

describe('createDependencyLog', () => {
  function open() {
    const { logger, lines } = captureLog()
    return { ...createDependencyLog(logger, durations), lines }
  }

  test('one line per dependency and change of reason, without a stack', () => {
    const { failed, lines } = open()
    for (let request = 0; request < 100; request++) {
      failed('redis', new Error('connect ECONNREFUSED 127.0.0.1:6379'))
      failed('database', new Error('no connection', { cause: new Error('password authentication failed') }))
    }
    failed('redis', new Error('WRONGPASS invalid username-password pair or user is disabled.'))
    expect(lines).toMatchObject([
      { level: 'warn', dependency: 'redis', reason: 'connect ECONNREFUSED 127.0.0.1:6379', msg: 'dependency failed' },
      { dependency: 'database', reason: 'no connection: password authentication failed' },
      { dependency: 'redis', reason: 'WRONGPASS invalid username-password pair or user is disabled.' },
    ])
    expect(JSON.stringify(lines)).not.toContain('.ts:')
  })

  test('reasons that alternate are logged once a minute', () => {
    const { failed, lines } = open()
    for (now = 0; now < 59_000; now += 1_000) failed('redis', new Error(now % 2_000 === 0 ? 'refused' : 'closed'))
    expect(lines.map(({ reason }) => reason)).toEqual(['refused', 'closed'])
    now = 60_500
    failed('redis', new Error('closed'))
    failed('redis', new Error('refused'))
    expect(lines.map(({ reason }) => reason)).toEqual(['refused', 'closed', 'refused'])
  })

  test('an outage logs at most 20 reasons', () => {
    const { failed, lines } = open()
    for (let port = 0; port < 100; port++) failed('redis', new Error(`reset by 127.0.0.1:${port}`))
    expect(lines).toHaveLength(20)
  })

  test('one line when it works again, five seconds after the last failure', () => {
    const { failed, works, lines } = open()
    works('redis')
    failed('redis', new Error('refused'))
    now = 4_000
    works('redis')
    failed('redis', new Error('refused'))
    now = 9_000
    works('redis')
    works('redis')
    failed('redis', new Error('refused'))
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', 'dependency failed'],
      ['info', 'dependency works again'],
      ['warn', 'dependency failed'],
    ])
  })

  test('a dependency of which only some commands fail logs a few lines, not two per command', () => {
    const { failed, works, lines } = open()
    // An hour without the permission to publish: the other commands work.
    for (now = 0; now < 3_600_000; now += 1_000) {
      if (now % 10_000 === 0) failed('redis', new Error('NOPERM'))
      else works('redis')
    }
    expect(lines.length).toBeLessThanOrEqual(4)
    // An outage of the next day settles as fast as the first one.
    now += 400_000
    works('redis')
    now += 400_000
    failed('redis', new Error('refused'))
    now += 5_000
    works('redis')
    expect(lines.slice(-2).map(({ msg }) => msg)).toEqual(['dependency failed', 'dependency works again'])
  })

  test('a reason contains no credentials of a URL and no line break', () => {
    const { failed, lines } = open()
    failed('mail', new Error('smtps://user:secret@mail.test refused\nthe login'))
    expect(lines).toMatchObject([{ reason: 'smtps://mail.test refused the login' }])
  })
})

test('oncePerReason: again after a change of the reason, or after a minute without it', () => {
  const logged: unknown[] = []
  const report = oncePerReason(durations, (error) => logged.push(error))
  for (const [at, reason] of [
    [0, 'a'],
    [30_000, 'a'],
    [89_000, 'a'],
    [90_000, 'b'],
    [151_000, 'b'],
  ] as const) {
    now = at
    report(reason)
  }
  expect(logged).toEqual(['a', 'b', 'b'])
})

test.each<[boolean, unknown]>([
  [true, new Refusal('SYSTEM.UNAVAILABLE')],
  [true, new Refusal('SYSTEM.UPSTREAM_TIMEOUT')],
  [true, new Refusal('SYSTEM.UNAVAILABLE', { cause: new TypeError('fetch failed', { cause: new Error('TLS') }) })],
  [true, new DependencyFailure('Redis')],
  [true, new DOMException('no response within 5 ms', 'TimeoutError')],
  [true, new Error('a job', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })],
  [true, Object.assign(new Error('the server is shutting down'), { code: '57P01' })],
  [false, new Refusal('SYSTEM.INTERNAL_ERROR', { cause: new Error('unexpected') })],
  [false, new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', { cause: new TypeError('undefined is not a function') })],
  [false, new Error('unexpected')],
  [false, 'text'],
])('isKnownCondition: %s for %s', (isKnown, error) => {
  expect(isKnownCondition(error)).toBe(isKnown)
})

test('faultReport: an unavailable database has one line for all parts, and other faults have one per part', () => {
  const { logger, lines } = captureLog()
  const dependencies = createDependencyLog(logger, durations)
  const parts = ['jobs failed', 'events failed'].map((message) =>
    faultReport({ dependencies, durations }, logger, message),
  )
  const messages = () => lines.map(({ msg }) => msg)
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  for (const report of parts) report(refused)
  expect(messages()).toEqual(['dependency failed'])
  for (const report of parts) report(new TypeError('a fault'))
  expect(messages()).toEqual(['dependency failed', 'jobs failed', 'events failed'])
})
