import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { needsStore } from '../harness/needs.ts'
import { openEventStream } from './event-streams-world.ts'
import { startMoneyWorld } from './money-world.ts'

describe('retention of events', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  beforeAll(async () => {
    const retain = (settings: { events: { retentionMs: number } }): void => {
      settings.events.retentionMs = 1
    }
    world = await startMoneyWorld(retain, { everyMs: { 'events.deleteExpired': 200 } })
  })
  afterAll(() => world?.portico.stop())

  test('events.list and events.stream 410 EVENT.CURSOR_EXPIRED: before the oldest event', async () => {
    const { mainUsd: sourceWalletBizId, savingsUsd: targetWalletBizId } = developmentIds
    const body = { sourceWalletBizId, targetWalletBizId, amount: '0.01', currency: 'USD' }
    await world.data(world.web('POST', '/transfer/command/create', body))
    for (const read of [world.web, world.system]) {
      const readStart = async () => {
        const { status, body, headers } = await read('GET', '/events?after=0')
        return [status, body.code, headers.get('x-oldest-cursor')]
      }
      await expect.poll(readStart).toEqual([410, 'EVENT.CURSOR_EXPIRED', expect.stringMatching(/^[1-9]\d*$/)])
      const { latestCursor } = await world.data(read('GET', '/events'))
      expect((await read('GET', `/events?after=${latestCursor}`)).status).toBe(200)
    }
    const call = { token: world.owner.accessToken, workspace: developmentIds.workspace, lastEventId: '0' }
    const stream = await openEventStream(world.portico, '/web/v1/consumer/events/stream', call)
    expect([stream.status, (await stream.json()).code]).toEqual([410, 'EVENT.CURSOR_EXPIRED'])
    expect(stream.headers.get('x-oldest-cursor')).toMatch(/^[1-9]\d*$/)
  })
})
