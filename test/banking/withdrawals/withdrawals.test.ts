import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as channelContract from '../../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../../src/banking/withdrawal-channels/networks.ts'
import * as contract from '../../../src/banking/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/banking/withdrawals/index.ts'
import { bizId as bizIdOf } from '../../../src/kernel/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { alwaysOpen, refusalOf, transactionOf, trustingMembers, unlimitedPayouts, words } from '../world.ts'

describe('withdrawals', () => {
  const openWithdrawals = async () => {
    const { database, close } = await testDatabase()
    const bank = await createTestBank(database)
    const { ledger, clock } = bank
    const key = Buffer.alloc(32, 7)
    const secretBox = createSecretBox({ current: key, previous: [] }, systemRandomness)
    const digest = createKeyedDigest({ current: key, previous: [] })
    const channels = createWithdrawalChannels({
      assertSessionOpen: alwaysOpen,
      notices: { queue: async () => undefined },
      ...{ database, transaction: transactionOf(database), ledger, clock, ids: systemIds, secretBox, digest, words },
      members: trustingMembers,
      maxPerWorkspace: 20,
      suspendYoungerThanMs: 259_200_000,
      isCountry: () => true,
      networks: defaultNetworks,
    })
    const terms = { currency: 'USD', minAmount: '1', maxAmount: '100', fixedFee: '0', feeRate: '0.00333' }
    const { handlers } = createWithdrawals({
      notices: { queue: async () => undefined },
      database,
      transaction: transactionOf(database),
      ...unlimitedPayouts,
      ledger,
      words,
      payouts: [{ ...terms, channelType: 'BANK' }],
      // Another request deactivates the channel right after this read.
      channelOf: async (workspace, channel) => {
        const found = await channels.channelOf(workspace, channel)
        return found && { ...found, channelStatus: 'ACTIVE' }
      },
    })
    const wallet = await bank.wallet('USD', '100.00')
    return { ...bank, secretBox, wallet, close, call: handlerCaller([channels.handlers, handlers], clock) }
  }
  let fixture: Awaited<ReturnType<typeof openWithdrawals>>
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    fixture = await openWithdrawals()
  })
  afterAll(() => fixture?.close())
  const open = (changed: object = {}) =>
    fixture.call(channelContract.createWithdrawalChannel, {
      as: maker,
      workspace: fixture.wallet.workspace,
      body: payoutAccount(changed),
    })
  const verify = (id: string, as = checker) =>
    fixture.call(channelContract.verifyWithdrawalChannel, { as, params: { withdrawal_channel_id: id } })
  const withdraw = (channel: string) =>
    fixture.call(contract.createWithdrawal, {
      as: maker,
      workspace: fixture.wallet.workspace,
      body: { walletBizId: fixture.wallet.id, withdrawalChannelBizId: channel, amount: '10.00' },
    })

  test('withdrawalChannels.create: encrypts the account number at rest, bound to its row', async () => {
    const accountNumber = 'GB82WEST12345698765432'
    const { bizId } = await open({ accountNumber })
    const rows = await fixture.database.selectFrom('withdrawal_channels').selectAll().execute()
    const [row] = rows.filter((each) => each.bizId === bizId)
    if (!row) throw new Error('no row')
    const raw = Buffer.concat(
      Object.values(row).map((cell) => Buffer.from(cell instanceof Uint8Array ? cell : String(cell))),
    )
    expect(raw.includes('Ada Lovelace')).toBe(true)
    for (const part of [accountNumber, accountNumber.slice(0, 8), Buffer.from(accountNumber).toString('base64')])
      expect(raw.includes(part)).toBe(false)
    const unsealed = fixture.secretBox.open('withdrawal-account', bizId, row.accountSealed)
    expect(Buffer.from(unsealed ?? []).toString()).toBe(accountNumber)
    const audit = await fixture.database.selectFrom('audit_log').selectAll().execute()
    expect(JSON.stringify(audit)).not.toContain(accountNumber)
  })

  test('withdrawalChannels.create: the stored request does not reveal the account number', async () => {
    const [requestId, body] = [systemIds.next(), payoutAccount()]
    await fixture.call(channelContract.createWithdrawalChannel, {
      as: maker,
      workspace: fixture.wallet.workspace,
      body,
      requestId,
    })
    const stored = await fixture.database
      .selectFrom('idempotency')
      .selectAll()
      .where('requestId', '=', requestId)
      .execute()
    expect(stored).toHaveLength(1)
    const guess = createHash('sha256')
      .update(JSON.stringify([{}, body]))
      .digest('hex')
    expect(JSON.stringify(stored)).not.toContain(guess)
    expect(JSON.stringify(stored)).not.toContain(body.accountNumber)
  })

  test('withdrawals.approve, reject, complete, fail 403 ACCESS.PERMISSION_DENIED: own withdrawal', async () => {
    const { bizId } = await open()
    expect(await refusalOf(verify(bizId, maker))).toBe('ACCESS.PERMISSION_DENIED')
    const rejected = { as: maker, params: { withdrawal_channel_id: bizId }, body: { reason: 'x' } }
    expect(await refusalOf(fixture.call(channelContract.rejectWithdrawalChannel, rejected))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
    await verify(bizId)
    const order = await withdraw(bizId)
    expect(order).toMatchObject({ feeAmount: '0.04', netAmount: '9.96' })
    const request = { params: { withdrawal_id: order.bizId }, body: { reason: 'x' } }
    const own = { ...request, as: maker }
    expect(await refusalOf(fixture.call(contract.approveWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(fixture.call(contract.rejectWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    await fixture.call(contract.approveWithdrawal, { ...request, as: checker })
    expect(await refusalOf(fixture.call(contract.completeWithdrawal, { ...own, body: {} }))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
    expect(await refusalOf(fixture.call(contract.failWithdrawal, own))).toBe('ACCESS.PERMISSION_DENIED')
    await fixture.call(contract.failWithdrawal, { ...request, as: checker })
    expect(await fixture.available(fixture.wallet)).toBe('100.00')
  })

  test('withdrawals.create 422 CHANNEL.NOT_AVAILABLE: the database rejects an inactive channel', async () => {
    const { bizId } = await open()
    expect(await refusalOf(withdraw(bizId))).toBe('CHANNEL.NOT_AVAILABLE')
    expect(await fixture.available(fixture.wallet)).toBe('100.00')
    expect(await fixture.ledger.verifyLedger()).toBeNull()
  })

  test('withdrawals.approve 422 CHANNEL.NOT_AVAILABLE: the channel is deactivated during the approval', async () => {
    const { bizId } = await open()
    await verify(bizId)
    const order = await withdraw(bizId)
    const deactivation = { as: checker, params: { withdrawal_channel_id: bizId }, body: { reason: 'x' } }
    await fixture.call(channelContract.rejectWithdrawalChannel, deactivation)
    const request = { as: checker, params: { withdrawal_id: order.bizId }, body: { reason: 'x' } }
    expect(await refusalOf(fixture.call(contract.approveWithdrawal, request))).toBe('CHANNEL.NOT_AVAILABLE')
    await fixture.call(contract.rejectWithdrawal, request)
    expect(await fixture.available(fixture.wallet)).toBe('100.00')
  })

  const suspended = { channelStatus: 'SUSPENDED', suspendedStatus: 'ACTIVE' } as const
  const disabled = { channelStatus: 'DISABLED', suspendedStatus: null } as const
  test.each([suspended, disabled])(
    'withdrawals.complete 409 STATE.CONFLICT: the channel is $channel_status; fail releases the funds',
    async (change) => {
      const { bizId } = await open()
      await verify(bizId)
      const order = await withdraw(bizId)
      const request = { as: checker, params: { withdrawal_id: order.bizId } }
      await fixture.call(contract.approveWithdrawal, request)
      const channel = fixture.database
        .updateTable('withdrawal_channels')
        .where('bizId', '=', bizIdOf<'withdrawalChannel'>(bizId))
      await channel.set(change).execute()
      const complete = () => refusalOf(fixture.call(contract.completeWithdrawal, { ...request, body: {} }))
      expect(await complete()).toBe('STATE.CONFLICT')
      await fixture.call(contract.failWithdrawal, { ...request, body: { reason: 'x' } })
      expect(await fixture.available(fixture.wallet)).toBe('100.00')
      expect(await complete()).toBe('STATE.CONFLICT')
    },
  )

  test('withdrawals.complete 200: the channel was reactivated', async () => {
    const { bizId } = await open()
    await verify(bizId)
    const request = { as: checker, params: { withdrawal_id: (await withdraw(bizId)).bizId } }
    await fixture.call(contract.approveWithdrawal, request)
    const channel = fixture.database
      .updateTable('withdrawal_channels')
      .where('bizId', '=', bizIdOf<'withdrawalChannel'>(bizId))
    await channel.set(suspended).execute()
    const complete = () => fixture.call(contract.completeWithdrawal, { ...request, body: {} })
    expect(await refusalOf(complete())).toBe('STATE.CONFLICT')
    await channel.set({ channelStatus: 'ACTIVE', suspendedStatus: null }).execute()
    expect((await complete()).withdrawalStatus.code).toBe('COMPLETED')
  })
})
