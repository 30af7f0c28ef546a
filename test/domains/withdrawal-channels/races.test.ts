import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import * as channelContract from '../../../src/domains/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/domains/withdrawal-channels/index.ts'
import * as contract from '../../../src/domains/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/domains/withdrawals/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { postgresStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, words } from '../world.ts'

const store = await postgresStore()
afterAll(() => store?.close())

const scene = async ({ database }: TestStore) => {
  const book = await createTestBank(database)
  const { ledger, clock } = book
  const key = Buffer.alloc(32, 7)
  const channels = createWithdrawalChannels({
    ...{ database, ledger, clock, ids: systemIds, words },
    secretBox: createSecretBox(key, systemRandomness),
    digest: createKeyedDigest(key),
    members: { assertAccess: async () => undefined },
    maxPerWorkspace: 20,
    isCountry: () => true,
  })
  const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', fixedFee: '0', feeRate: '0' }
  const payouts = [{ ...terms, channelType: 'BANK' as const }]
  const { handlers } = createWithdrawals({ ledger, words, payouts, channelOf: channels.channelOf })
  const ask = handlerCaller([channels.handlers, handlers], clock)
  const [maker, checker] = [book.account(), book.account()]
  const wallet = await book.wallet('USD', '100.00')
  const mine = { as: maker, workspace: wallet.workspace }
  const decided = (withdrawal_channel_id: string) => ({ as: checker, params: { withdrawal_channel_id } })

  /** What an act ends with that began while the channel was being taken back, in a transaction that has yet to end. */
  const whileTakenBack = async (channel: string, status: string, act: () => Promise<unknown>): Promise<string> => {
    const { begun } = await database.transaction().execute(async (tx) => {
      await sql`UPDATE withdrawal_channels SET channel_status = ${status} WHERE biz_id = ${channel}`.execute(tx)
      const outcome = refusalOf(act())
      const waits = async () =>
        (await sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`.execute(database)).rows.length
      while ((await waits()) === 0 && (await Promise.race([outcome, pause(10, 'waits')])) === 'waits');
      return { begun: outcome }
    })
    return begun
  }
  return {
    whileTakenBack,
    open: async () => (await ask(channelContract.createWithdrawalChannel, { ...mine, body: payoutAccount() })).bizId,
    verify: (channel: string) => ask(channelContract.verifyWithdrawalChannel, decided(channel)),
    withdraw: (channel: string) =>
      ask(contract.createWithdrawal, {
        ...mine,
        body: { walletBizId: wallet.id, withdrawalChannelBizId: channel, amount: '10.00' },
      }),
    available: () => book.available(wallet),
  }
}

describe.skipIf(!store)('an account that is being taken back, on PostgreSQL', () => {
  const world = store && scene(store)
  const there = () => world ?? Promise.reject(new Error('no store'))

  test('withdrawalChannels.verify 409 while another one rejects it: it waits for that, and goes by it', async () => {
    const { open, verify, whileTakenBack } = await there()
    const channel = await open()
    expect(await whileTakenBack(channel, 'REJECTED', () => verify(channel))).toBe('STATE.CONFLICT')
  })

  test('withdrawals.create 422 CHANNEL.NOT_AVAILABLE: none slips out meanwhile, and nothing is held', async () => {
    const { open, verify, withdraw, whileTakenBack, available } = await there()
    const channel = await open()
    await verify(channel)
    expect(await whileTakenBack(channel, 'DISABLED', () => withdraw(channel))).toBe('CHANNEL.NOT_AVAILABLE')
    expect(await available()).toBe('100.00')
  })
})
