import { expect, test } from 'vitest'
import { createLocalPubSub, type PubSub } from '../../src/platform/pubsub.ts'
import { gatherTimeoutMs, joinReplicas } from '../../src/platform/replicas.ts'
import { systemClock, systemIds } from '../../src/platform/runtime/index.ts'
import { createMovableDurations } from '../harness/durations.ts'

/** Delivers every message to all replicas, as Redis does, also to the sender. */
function deployment() {
  const pubsub = createLocalPubSub()
  const durations = createMovableDurations()
  durations.stop()
  const join = (name: string, bus: PubSub = pubsub) => {
    const replica = joinReplicas(name, { deployment: '/0', pubsub: bus, clock: systemClock, durations, ids: systemIds })
    replica.answer('name', async (argument) => `${name} ${argument}`)
    durations.skip(3_000)
    return replica
  }
  return { pubsub, durations, join }
}

test('replicas gather: every replica answers once, without waiting for the timeout', async () => {
  const { join } = deployment()
  const replicas = ['one', 'two', 'three'].map((name) => join(name))
  const [first] = replicas
  const { answers, missing } = (await first?.gather('name', 'x')) ?? {}
  expect(answers?.map(({ result }) => result).toSorted()).toEqual(['one x', 'three x', 'two x'])
  expect([answers?.[0]?.replica, missing]).toEqual(['one', []])
})

test('replicas gather: one replica alone answers immediately', async () => {
  expect(await deployment().join('one').gather('name', '')).toEqual({
    answers: [{ replica: 'one', result: 'one ' }],
    missing: [],
  })
})

test('replicas gather: a replica that was seen and does not answer is missing, until it closes', async () => {
  const { pubsub, durations, join } = deployment()
  const first = join('one')
  let isAlive = true
  const failing: PubSub = {
    publish: (topic, text) => isAlive && pubsub.publish(topic, text),
    subscribe: pubsub.subscribe,
  }
  const second = join('two', failing)
  isAlive = false
  const gathered = first.gather('name', '')
  durations.skip(gatherTimeoutMs)
  expect(await gathered).toMatchObject({ answers: [{ replica: 'one' }], missing: [{ replica: 'two' }] })
  isAlive = true
  second.close()
  isAlive = false
  expect((await first.gather('name', '')).missing).toEqual([])
})

test('replicas gather: ignores invalid messages, and an answer that is too large', async () => {
  const { pubsub, durations, join } = deployment()
  const first = join('one')
  join('two').answer('name', async () => 'x'.repeat(300_000))
  for (const text of [
    '',
    '{',
    '[]',
    '{"from":"x"}',
    '{"deployment":"/0","from":"x","name":"a\\nb","kind":"start"}',
    '{"deployment":"/1","from":"x","name":"x","kind":"here"}',
  ])
    pubsub.publish('replicas', text)
  const gathered = first.gather('name', '')
  // The replica builds its answer before the time passes.
  await new Promise(setImmediate)
  durations.skip(gatherTimeoutMs)
  expect(await gathered).toMatchObject({ answers: [{ replica: 'one' }], missing: [{ replica: 'two' }] })
})

test('replicas gather: refuses the 17th question that waits', async () => {
  const { pubsub, durations, join } = deployment()
  const first = join('one')
  pubsub.publish('replicas', JSON.stringify({ deployment: '/0', from: 'silent', name: 'silent', kind: 'here' }))
  const waiting = Array.from({ length: 16 }, () => first.gather('name', ''))
  await expect(first.gather('name', '')).rejects.toThrow('too many questions')
  durations.skip(gatherTimeoutMs)
  await Promise.all(waiting)
  expect(await Promise.race([first.gather('name', ''), Promise.resolve('accepted')])).toBe('accepted')
})

test('replicas gather: waits for unknown replicas shortly after the start', async () => {
  const { pubsub, durations } = deployment()
  const ports = { deployment: '/0', clock: systemClock, durations, ids: systemIds }
  const first = joinReplicas('one', { ...ports, pubsub })
  // The subscription of the other replica is later than the first messages.
  const gathered = first.gather('name', '')
  pubsub.publish('replicas', JSON.stringify({ deployment: '/0', from: 'late', name: 'late', kind: 'here' }))
  durations.skip(gatherTimeoutMs)
  expect((await gathered).missing).toMatchObject([{ replica: 'late' }])
})

test('replicas: forged messages make a replica neither check its stores without limit nor remember long ids', async () => {
  const { pubsub, durations, join } = deployment()
  const first = join('one')
  const release = Promise.withResolvers<void>()
  let checks = 0
  first.answer('status', async () => {
    checks += 1
    await release.promise
  })
  const forge = (message: object) => pubsub.publish('replicas', JSON.stringify({ deployment: '/0', ...message }))
  for (let id = 0; id < 500; id++)
    forge({ from: 'forger', name: 'forger', kind: 'question', id: `${id}`, question: 'status', argument: '' })
  expect(checks).toBe(64)
  forge({ from: 'x'.repeat(200_000), name: 'large', kind: 'here' })
  release.resolve()
  await new Promise(setImmediate)
  forge({ from: 'forger', name: 'forger', kind: 'question', id: 'later', question: 'status', argument: '' })
  expect(checks).toBe(65)
  const gathered = first.gather('name', '')
  durations.skip(gatherTimeoutMs)
  expect((await gathered).missing).toMatchObject([{ replica: 'forger' }])
})
