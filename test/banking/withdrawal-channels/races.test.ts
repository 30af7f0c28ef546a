import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import * as channelContract from '../../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../../src/banking/withdrawal-channels/networks.ts'
import * as contract from '../../../src/banking/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/banking/withdrawals/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { lockWaits, postgresStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { alwaysOpen, refusalOf, transactionOf, trustingMembers, unlimitedPayouts, words } from '../world.ts'

const store = await postgresStore()
afterAll(() => store?.close())

async function setUp({ database }: TestStore) {
  const journal = await createTestBank(database)
  const { ledger, clock } = journal
  const key = Buffer.alloc(32, 7)
  const channels = createWithdrawalChannels({
    assertSessionOpen: alwaysOpen,
    notices: { queue: async () => undefined },
    ...{ database, transaction: transactionOf(database), ledger, clock, ids: systemIds, words },
    secretBox: createSecretBox({ current: key, previous: [] }, systemRandomness),
    digest: createKeyedDigest({ current: key, previous: [] }),
    members: trustingMembers,
    maxPerWorkspace: 20,
    suspendYoungerThanMs: 259_200_000,
    isCountry: () => true,
    networks: defaultNetworks,
  })
  const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', fixedFee: '0', feeRate: '0' }
  const payouts = [{ ...terms, channelType: 'BANK' as const }]
  const { handlers } = createWithdrawals({
    ...unlimitedPayouts,
    notices: { queue: async () => undefined },
    database,
    transaction: transactionOf(database),
    ledger,
    words,
    payouts,
    channelOf: channels.channelOf,
  })
  const call = handlerCaller([channels.handlers, handlers], clock)
  const [maker, checker] = [journal.account(), journal.account()]
  const wallet = await journal.wallet('USD', '100.00')
  const mine = { as: maker, workspace: wallet.workspace }
  const inputFor = (withdrawal_channel_id: string) => ({ as: checker, params: { withdrawal_channel_id } })

  /** The operation starts during an uncommitted status change of the channel. */
  const duringStatusChange = async (
    channel: string,
    status: string,
    operation: () => Promise<unknown>,
  ): Promise<string> => {
    const { pending } = await database.transaction().execute(async (tx) => {
      await sql`UPDATE withdrawal_channels SET channel_status = ${status} WHERE biz_id = ${channel}`.execute(tx)
      const outcome = refusalOf(operation())
      const waits = () => lockWaits(database)
      while ((await waits()) === 0 && (await Promise.race([outcome, pause(10, 'waits')])) === 'waits');
      return { pending: outcome }
    })
    return pending
  }
  return {
    duringStatusChange,
    open: async () => (await call(channelContract.createWithdrawalChannel, { ...mine, body: payoutAccount() })).bizId,
    verify: (channel: string) => call(channelContract.verifyWithdrawalChannel, inputFor(channel)),
    withdraw: (channel: string) =>
      call(contract.createWithdrawal, {
        ...mine,
        body: { walletBizId: wallet.id, withdrawalChannelBizId: channel, amount: '10.00' },
      }),
    available: () => journal.available(wallet),
  }
}

describe('concurrent status change of a withdrawal channel, on PostgreSQL', needsPostgres(store), () => {
  const world = store && setUp(store)
  const context = () => world ?? Promise.reject(new Error('no store'))

  test('withdrawalChannels.verify 409 STATE.CONFLICT: waits for a concurrent rejection', async () => {
    const { open, verify, duringStatusChange } = await context()
    const channel = await open()
    expect(await duringStatusChange(channel, 'REJECTED', () => verify(channel))).toBe('STATE.CONFLICT')
  })

  test('withdrawals.create 422 CHANNEL.NOT_AVAILABLE: waits for a concurrent deactivation', async () => {
    const { open, verify, withdraw, duringStatusChange, available } = await context()
    const channel = await open()
    await verify(channel)
    expect(await duringStatusChange(channel, 'DISABLED', () => withdraw(channel))).toBe('CHANNEL.NOT_AVAILABLE')
    expect(await available()).toBe('100.00')
  })
})
