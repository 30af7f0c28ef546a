import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { unknownId } from '../harness/catalogue.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { codeOf, conflict, invalid, notFound, reused, unavailable } from './money-world.ts'
import { maxChannels, startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { workspace } = developmentIds

describe('withdrawal channels', () => {
  let world: WithdrawalsWorld
  beforeAll(async () => {
    world = await startWithdrawalsWorld()
  })
  afterAll(() => world?.portico.stop())

  test('withdrawalChannels.create 200: masked, once per request; 409 for a duplicate account', async () => {
    const { data, web, eur } = world
    const body = payoutAccount({ accountNumber: 'DE89 3704 0044 0532 0130 00' })
    const id = randomUUID()
    const first = await web('POST', '/withdrawal-channels', body, { id })
    expect(first.body.data).toMatchObject({
      maskedAccount: '****3000',
      bankCode: 'COBADEFF',
      network: null,
      channelStatus: { code: 'PENDING_VERIFICATION' },
      rejectReason: null,
    })
    expect(first.text).not.toMatch(/37040044|payoutAccount(Number|Sealed)|createdBy/)
    expect((await web('POST', '/withdrawal-channels', body, { id })).body.data).toEqual(first.body.data)
    const other = await web('POST', '/withdrawal-channels', payoutAccount(), { id })
    expect(codeOf(other)).toEqual(reused)
    const again = payoutAccount({ accountNumber: 'de89370400440532013000' })
    expect(codeOf(await web('POST', '/withdrawal-channels', again))).toEqual(conflict)
    const crypto = await web('POST', '/withdrawal-channels', payoutAccount({ channelType: 'CRYPTO' }))
    expect(codeOf(crypto)).toEqual(invalid)
    const ids = (await data(web('GET', '/withdrawal-channels?channelStatus=PENDING_VERIFICATION'))).map(
      (channel: { bizId: string }) => channel.bizId,
    )
    expect(ids).toEqual([first.body.data.bizId])
    expect(await data(web('GET', '/withdrawal-channels?channelType=CRYPTO'))).toEqual([])
    expect(await data(web('GET', '/withdrawal-channels?currency=EUR'))).toMatchObject([{ bizId: eur }])
  })

  test('withdrawalChannels.create 400: a country that does not exist', async () => {
    const { web } = world
    const response = await web('POST', '/withdrawal-channels', payoutAccount({ country: 'XX' }))
    expect(codeOf(response)).toEqual(invalid)
    expect(response.body.message).toContain('country')
  })

  test('withdrawalChannels.verify, reject 200: PENDING_VERIFICATION → ACTIVE → DISABLED, → REJECTED; 409 after, 404', async () => {
    const { data, web, system, orderOf } = world
    const body = payoutAccount()
    const { bizId } = await data(web('POST', '/withdrawal-channels', body))
    const on = (id: string, decision: 'verify' | 'reject') =>
      system('POST', `/withdrawal-channels/${id}/${decision}`, decision === 'reject' ? { reason: 'closed' } : undefined)
    expect(await data(on(bizId, 'verify'))).toMatchObject({ channelStatus: { code: 'ACTIVE' }, rejectReason: null })
    expect(codeOf(await on(bizId, 'verify'))).toEqual(conflict)
    expect(await data(on(bizId, 'reject'))).toMatchObject({
      channelStatus: { code: 'DISABLED' },
      rejectReason: 'closed',
    })
    expect(codeOf(await on(bizId, 'reject'))).toEqual(conflict)
    expect(codeOf(await on(bizId, 'verify'))).toEqual(conflict)
    expect(codeOf(await web('POST', '/withdrawals', orderOf({ withdrawalChannelBizId: bizId })))).toEqual(unavailable)
    const second = await data(web('POST', '/withdrawal-channels', body))
    expect(await data(on(second.bizId, 'reject'))).toMatchObject({ channelStatus: { code: 'REJECTED' } })
    expect(codeOf(await on(second.bizId, 'verify'))).toEqual(conflict)
    for (const id of [unknownId, 'x']) expect(codeOf(await on(id, 'verify'))).toEqual(notFound)
    const all = await data(system('GET', `/withdrawal-channels?channelStatus=DISABLED&workspaceId=${workspace}`))
    expect(all.items.map((channel: { bizId: string }) => channel.bizId)).toEqual([bizId])
    expect((await data(system('GET', `/withdrawal-channels?workspaceId=${unknownId}`))).items).toEqual([])
  })

  test('withdrawalChannels.create 200: a replay returns the first response for any channel status', async () => {
    const { data, web, system } = world
    const [id, body] = [randomUUID(), payoutAccount()]
    const first = await data(web('POST', '/withdrawal-channels', body, { id }))
    await data(system('POST', `/withdrawal-channels/${first.bizId}/verify`))
    expect(await data(web('POST', '/withdrawal-channels', body, { id }))).toEqual(first)
    await data(system('POST', `/withdrawal-channels/${first.bizId}/reject`, { reason: 'closed' }))
    expect(await data(web('POST', '/withdrawal-channels', body, { id }))).toEqual(first)
    const { bizId: play } = await data(web('POST', '/workspaces', { workspaceName: 'Play', workspaceKind: 'SANDBOX' }))
    const gone = { id: randomUUID(), workspace: play }
    const before = await data(web('POST', '/withdrawal-channels', body, gone))
    await data(web('POST', '/sandbox/reset', undefined, { workspace: play }))
    expect(await data(web('POST', '/withdrawal-channels', body, gone))).toEqual(before)
  })

  test('withdrawalChannels.create 409 at the limit, also concurrently; a rejected channel frees a slot', async () => {
    const { data, web, system } = world
    const { bizId: full } = await data(web('POST', '/workspaces', { workspaceName: 'Full' }))
    const one = () => web('POST', '/withdrawal-channels', payoutAccount(), { workspace: full })
    const responses = await Promise.all(Array.from({ length: maxChannels + 2 }, one))
    expect(responses.filter(({ status }) => status !== 200).map(codeOf)).toEqual([conflict, conflict])
    const channels = await data(web('GET', '/withdrawal-channels', undefined, { workspace: full }))
    expect(channels).toHaveLength(maxChannels)
    await data(system('POST', `/withdrawal-channels/${channels[0].bizId}/reject`, { reason: 'unknown' }))
    expect((await one()).status).toBe(200)
    expect(codeOf(await one())).toEqual(conflict)
  })
})
