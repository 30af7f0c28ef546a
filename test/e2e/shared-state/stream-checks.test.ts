import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Lease } from '../../../src/database/lease.ts'
import { recheckMs } from '../../../src/gateway/pipeline/open-streams.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { signIn } from '../../harness/sign-in.ts'
import { type HandlerStreamsWorld, pulses, startHandlerStreams, streamOf } from '../handler-streams-world.ts'

let world: HandlerStreamsWorld
const { workspace, memberRole } = developmentIds
const accounts = ['owner@demo.test', 'member@demo.test']
let tokens: string[]
beforeAll(async () => {
  world = await startHandlerStreams((settings) => {
    settings.streams.maxPerAccount = 100
  })
  tokens = []
  for (let round = 0; round < 2; round += 1)
    for (const email of accounts) tokens.push((await signIn(world.portico, email)).accessToken)
})
afterEach(() => {
  vi.restoreAllMocks()
  world.durations.resume()
})
afterAll(() => world?.stop())

async function openStream(token = '', replica = 0) {
  const response = await world.open({}, { token, replica })
  expect(response.status).toBe(200)
  const stream = streamOf(response)
  await stream.next()
  return stream
}

const ofChecks =
  /from "sessions" inner join "accounts"|from "memberships" as "m"|from "api_keys" as "k"|"ip_whitelist_entries"/

/** The statements that check callers, in the order of the poll. */
async function statementsOfPoll(): Promise<string[]> {
  world.durations.stop()
  // Longer than a cached session or membership is used for a stream.
  await pause(300)
  const sent = vi.spyOn(Lease.prototype, 'executeQuery')
  world.durations.skip(recheckMs)
  await pause(200)
  const texts = sent.mock.calls.map(([{ sql }]) => sql)
  vi.restoreAllMocks()
  world.durations.resume()
  return texts.filter((text) => ofChecks.test(text))
}

describe('the check of open streams', () => {
  test('takes as many statements for 12 streams of four sessions as for one stream', async () => {
    world.respond((request) => pulses(request))
    const open = [await openStream(tokens[0])]
    const ofOne = await statementsOfPoll()
    for (let round = 0; round < 3; round += 1)
      for (const token of tokens) if (open.length < 12) open.push(await openStream(token))
    const ofTwelve = await statementsOfPoll()
    for (const reader of open) await reader.cancel()
    expect(ofOne.length).toBeGreaterThan(0)
    expect(ofTwelve).toEqual(ofOne)
  })

  test('runs on one timer, which ends with the last stream', async () => {
    world.respond((request) => pulses(request))
    await expect.poll(world.openCount).toBe('0')
    const idle = world.durations.timers()
    const open = [await openStream(tokens[0]), await openStream(tokens[1]), await openStream(tokens[2])]
    expect(world.durations.timers() - idle).toBe(1)
    for (const reader of open) await reader.cancel()
    await expect.poll(() => world.durations.timers()).toBe(idle)
  })

  test('ends a stream with `rights` once the role of the caller changes, on every replica', async () => {
    world.respond((request) => pulses(request))
    const replicas = world.portico.urls.map((_, index) => index)
    const readers = await Promise.all(replicas.map((index) => openStream(tokens[1], index)))
    const change = async (path: string, body: object, token = tokens[0] ?? '') => {
      const answer = await world.portico.call('POST', `/web/v1/consumer${path}`, { token, workspace, body })
      expect(answer.status).toBe(200)
      return answer.body.data
    }
    const permissionCodes = ['wallet:read', 'role:read']
    const { bizId: roleBizId } = await change('/roles', { roleName: 'Watcher', permissionCodes })
    const profile = await world.portico.call('GET', '/web/v1/consumer/profile', { token: tokens[1] ?? '' })
    const { bizId: userBizId } = profile.body.data
    // The stream needs `wallet:read`, which both roles give.
    await change('/roles/members/role/change', { userBizId, roleBizId })
    await Promise.all(readers.map((reader) => reader.end()))
    const ends = () => world.portico.log.filter(({ streamEnd }) => streamEnd === 'rights').length
    await expect.poll(ends).toBe(readers.length)
    await change('/roles/members/role/change', { userBizId, roleBizId: memberRole })
  })
})
