import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { unknownId } from '../harness/catalogue.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { signInOnly } from '../harness/sign-in.ts'
import { codeOf, invalid, notFound } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const accountNumber = 'DE22 3704 0044 0532 0130 42'
const reason = 'pay withdrawal WDR-20260801-1'
const limit = 5

describe('the account of a withdrawal channel', () => {
  let world: WithdrawalsWorld
  let channel: string
  let checker: Client<'SYSTEM'>
  let sealed: boolean[] = []
  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ limits }) => {
      limits.scale = 1
      limits.groups.reveal = { account: { limit, windowMs: 3_600_000 } }
    })
    channel = (await world.data(world.web('POST', '/withdrawal-channels', payoutAccount({ accountNumber })))).bizId
    checker = clientOf(world.portico, 'SYSTEM', {
      onExchange: ({ operationId, sealed: isSealed }) => {
        if (operationId === 'withdrawalChannels.reveal') sealed = [...sealed, isSealed]
      },
    })
    await signInAs(world.portico, checker, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  const reveal = (id: string, body: unknown = { reason }) =>
    world.system('POST', `/withdrawal-channels/${id}/reveal`, body)
  const entriesOf = async (target: string) =>
    (await world.data(world.system('GET', `/audit-log?action=withdrawalChannels.reveal&targetId=${target}`))).items

  const refusedFor = async (reason: string) =>
    (await entriesOf(channel)).filter(
      ({ outcome, detail }: { outcome: { code: string }; detail: { reason?: string } }) =>
        outcome.code === 'REFUSED' && detail.reason === reason,
    )

  test('withdrawalChannels.reveal 200: the account as registered, not cached, one audit entry with the reason', async () => {
    const response = await reveal(channel)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await world.data(Promise.resolve(response))).toMatchObject({
      bizId: channel,
      channelType: { code: 'BANK' },
      accountHolderName: 'Ada Lovelace',
      accountNumber,
      bankCode: 'COBADEFF',
      network: null,
    })
    expect(response.body.data.maskedAccount).toBeUndefined()
    expect(await entriesOf(channel)).toMatchObject([
      { outcome: { code: 'SUCCESS' }, detail: { statedReason: reason }, actorBizId: expect.any(String) },
    ])
  })

  test('withdrawalChannels.reveal 404, 400: an unknown channel is audited; a reason is required', async () => {
    expect(codeOf(await reveal(unknownId))).toEqual(notFound)
    expect(await entriesOf(unknownId)).toMatchObject([
      { outcome: { code: 'REFUSED' }, detail: { reason: 'RESOURCE.NOT_FOUND', statedReason: reason } },
    ])
    for (const body of [{}, { reason: ' ' }]) expect(codeOf(await reveal(channel, body))).toEqual(invalid)
  })

  test('withdrawalChannels.reveal 403, 401: without a step-up, and for the owner of the account', async () => {
    const { accessToken } = await signInOnly(world.portico, 'checker@demo.test')
    const as = (token: string) =>
      world.portico.call('POST', `/web/v1/system/withdrawal-channels/${channel}/reveal`, { token, body: { reason } })
    expect(codeOf(await as(accessToken))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    expect(codeOf(await as(world.owner.accessToken))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    await expect.poll(() => refusedFor('ACCESS.STEP_UP_REQUIRED')).toHaveLength(1)
  })

  test('withdrawalChannels.reveal 200: the typed client gets it through the secure channel', async () => {
    const revealed = await checker.revealWithdrawalChannel({
      params: { withdrawal_channel_id: channel },
      body: { reason },
    })
    expect([revealed.accountNumber, sealed]).toEqual([accountNumber, [true]])
  })

  test('withdrawalChannels.reveal 429: the limit is per operator', async () => {
    const statuses: number[] = []
    for (let times = 0; times < limit; times++) statuses.push((await reveal(channel)).status)
    expect(statuses.at(-1)).toBe(429)
    const refused = statuses.filter((status) => status === 429).length
    await expect.poll(() => refusedFor('ACCESS.RATE_LIMITED')).toHaveLength(refused)
    const params = { withdrawal_channel_id: channel }
    expect((await checker.revealWithdrawalChannel({ params, body: { reason } })).accountNumber).toBe(accountNumber)
  })

  test('the log never contains the account or the reason', () => {
    const log = world.portico.rawLog.join('\n')
    expect(log).toContain('withdrawalChannels.reveal')
    for (const text of [accountNumber, '0044 0532', '00440532', reason]) expect(log).not.toContain(text)
  })
})
