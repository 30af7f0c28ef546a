import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { openEventStream, readEvents } from '../event-streams-world.ts'
import { startMoneyWorld } from '../money-world.ts'

const { mainUsd, savingsUsd, memberRole, workspace } = developmentIds
const path = '/web/v1/consumer/events/stream'
const systemPath = '/web/v1/system/events/stream'

describe('stream of events', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  beforeAll(async () => {
    world = await startMoneyWorld((settings) => {
      settings.streams.maxPerAccount = 50
    })
  })
  afterAll(() => world?.portico.stop())

  const transfer = async (on = 0): Promise<string> => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
    const { urls } = world.portico
    const call = { token: world.owner.accessToken, workspace, body }
    const done = await send(urls[on % urls.length] ?? '', 'POST', '/web/v1/consumer/transfer/command/create', call)
    expect(done.status, done.text).toBe(200)
    return done.body.data.bizId
  }
  const open = (more: Partial<Parameters<typeof openEventStream>[2]> = {}, query = '') =>
    openEventStream(world.portico, path + query, { token: world.owner.accessToken, workspace, ...more })
  const watch = async (more: Partial<Parameters<typeof openEventStream>[2]> = {}, query = '') => {
    const response = await open(more, query)
    expect(response.status).toBe(200)
    const stream = readEvents(response)
    // The stream has caught up.
    await expect.poll(stream.lastId).not.toBe('')
    return stream
  }
  const codeOf = async (response: Response) => [response.status, (await response.json()).code]

  test('events.stream 200: starts with the next event, which another replica can have recorded', async () => {
    const earlier = await transfer()
    const subjects = async () =>
      (await world.data(world.web('GET', '/events'))).events.map(({ subject }: { subject: string }) => subject)
    await expect.poll(subjects).toContain(earlier)
    const stream = await watch()
    const order = await transfer(1)
    await expect.poll(() => stream.events.length).toBeGreaterThan(0)
    const [event] = stream.events
    expect([event?.type, event?.data.subject]).toEqual(['transfer.completed', order])
    const before = String(Number(event?.id) - 1)
    const feed = await world.data(world.web('GET', `/events?after=${before}`))
    expect(event?.data).toEqual(feed.events[0])
    expect(feed.nextCursor).toBe(event?.id)
    await stream.cancel()
  })

  test('events.stream 200: Last-Event-ID resumes from the stored feed, also without an event before', async () => {
    const first = await watch()
    const cursor = first.lastId()
    await first.cancel()
    const orders = [await transfer(), await transfer(1), await transfer()]
    const resumed = await watch({ lastEventId: cursor, replica: 1 })
    await expect.poll(() => resumed.events.map(({ data }) => data.subject)).toEqual(orders)
    const last = await transfer()
    await expect.poll(() => resumed.events.map(({ data }) => data.subject)).toEqual([...orders, last])
    await resumed.cancel()
  })

  test('events.stream 200: 8 writers and streams that reconnect see every event once, in order', async () => {
    const streams = [await watch(), await watch({ replica: 1 })]
    const operator = readEvents(
      await openEventStream(world.portico, systemPath, { token: world.operator.accessToken, replica: 1 }),
    )
    await expect.poll(operator.lastId).not.toBe('')
    const orders: string[] = []
    const seen = streams.map((): string[] => [])
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let count = 0; count < 12; count++) orders.push(await transfer(writer))
    })
    for (let round = 0; round < 3; round++) {
      await expect.poll(() => streams[1]?.events.length).toBeGreaterThan(4)
      const [left] = streams.splice(1, 1)
      await left?.cancel()
      seen[1]?.push(...(left?.events.map(({ data }) => data.subject) ?? []))
      streams.push(await watch({ lastEventId: left?.lastId(), replica: round }))
    }
    await Promise.all(writers)
    const all = () =>
      [...streams, operator].map(({ events }, index) => [
        ...(seen[index] ?? []),
        ...events.map(({ data }) => data.subject),
      ])
    await expect.poll(() => all().map(({ length }) => length), { timeout: 10_000 }).toEqual([96, 96, 96])
    const [whole = [], resumed, ofOperator] = all()
    expect(whole.toSorted()).toEqual(orders.toSorted())
    expect([resumed, ofOperator]).toEqual([whole, whole])
    for (const each of [...streams, operator]) await each.cancel()
  })

  test('events.stream 200: `type` selects', async () => {
    const stream = await watch({}, '?type=transfer.failed')
    const other = await watch({}, '?type=transfer.failed,transfer.completed')
    await transfer()
    await expect.poll(() => other.events.length).toBe(1)
    expect(stream.events).toEqual([])
    for (const each of [stream, other]) await each.cancel()
  })

  test('events.stream 400 VALIDATION.INVALID_PARAMETER: no cursor, one behind the newest event, an unknown type', async () => {
    const refused = [400, 'VALIDATION.INVALID_PARAMETER']
    for (const lastEventId of ['x', '-1', '999999999']) {
      const response = await open({ lastEventId })
      expect(response.headers.get('x-portico-fields')).toContain('Last-Event-ID')
      expect(await codeOf(response)).toEqual(refused)
    }
    expect(await codeOf(await open({}, '?type=transfer.vanished'))).toEqual(refused)
    expect(await codeOf(await open({}, '?after=1'))).toEqual(refused)
  })

  test('events.stream: ends on every replica within a second after the session, and leaves no follower', async () => {
    const own = await signIn(world.portico)
    const streams = [await watch({ token: own.accessToken }), await watch({ token: own.accessToken, replica: 1 })]
    await world.portico.call('POST', '/web/v1/consumer/auth/logout', { token: own.accessToken, body: {} })
    const begun = performance.now()
    await Promise.all(streams.map(({ ended }) => ended))
    // The guarantee is a second. The rest is for a busy machine.
    expect(performance.now() - begun).toBeLessThan(3_000)
    Object.assign(world.owner, await signIn(world.portico))
  })

  test('events.stream: a changed role ends the stream, and the next one shows what the role can read', async () => {
    const member = await signIn(world.portico, 'member@demo.test')
    const role = async (permissionCodes: string[], roleName: string) =>
      (await world.data(world.web('POST', '/roles', { roleName, permissionCodes }))).bizId
    const profile = await world.portico.call('GET', '/web/v1/consumer/profile', { token: member.accessToken })
    const { bizId: userBizId } = profile.body.data
    const change = (roleBizId: string) =>
      world.data(world.web('POST', '/roles/members/role/change', { userBizId, roleBizId }))
    const [reader, limited] = [
      await role(['event:read', 'transfer:read'], 'Event reader'),
      await role(['event:read', 'wallet:read'], 'Limited reader'),
    ]
    await change(reader)
    const stream = await watch({ token: member.accessToken })
    await transfer()
    await expect.poll(() => stream.events.length).toBe(1)
    await change(limited)
    await stream.ended
    const next = await watch({ token: member.accessToken, lastEventId: stream.lastId() })
    await transfer()
    const own = await watch({ lastEventId: next.lastId() })
    await expect.poll(() => own.events.length).toBeGreaterThan(0)
    expect(next.events).toEqual([])
    expect(await codeOf(await open({ token: member.accessToken }, '?type=transfer.completed'))).toEqual([
      403,
      'ACCESS.PERMISSION_DENIED',
    ])
    await change(memberRole)
    await next.ended
    await own.cancel()
  })
})
