import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as channelContract from '../../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../../src/banking/withdrawal-channels/networks.ts'
import * as contract from '../../../src/banking/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/banking/withdrawals/index.ts'
import { type AccountId, bizId, type Caller, ratio } from '../../../src/kernel/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { payoutAccount, randomIban } from '../../harness/payout-account.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { everyStore, type TestStore } from '../../ledger/stores.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import {
  alwaysOpen,
  callerOf,
  insertAccount,
  refusalOf,
  stepUpMs,
  transactionOf,
  trustingMembers,
  unlimitedPayouts,
  words,
} from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))
const dayMs = 86_400_000
const checker = systemIds.next<'account'>()

const key = Buffer.alloc(32, 7)

async function openWithdrawals(
  { database }: TestStore,
  apiKeys: 'refuse' | 'allow' = 'refuse',
  keys: Parameters<typeof createKeyedDigest>[0] = { current: key, previous: [] },
) {
  const bank = await createTestBank(
    database,
    {},
    // Amounts in USD are about daily limits.
    { above: { minor: 5_000n, currency: 'EUR' }, apiKeys, findRate: async () => ratio(1n, 100n) },
  )
  const { ledger, clock } = bank
  const notices = { queue: async () => undefined }
  const channels = createWithdrawalChannels({
    assertSessionOpen: alwaysOpen,
    notices,
    ...{ database, transaction: transactionOf(database), ledger, clock, ids: systemIds, words },
    secretBox: createSecretBox(keys, systemRandomness),
    digest: createKeyedDigest(keys),
    members: trustingMembers,
    maxPerWorkspace: 20,
    suspendYoungerThanMs: 259_200_000,
    isCountry: () => true,
    networks: defaultNetworks,
  })
  const terms = { minAmount: '1', maxAmount: '100', dailyMax: '100', fixedFee: '0', feeRate: '0', channelType: 'BANK' }
  const { handlers } = createWithdrawals({
    ...unlimitedPayouts,
    notices,
    database,
    transaction: transactionOf(database),
    ledger,
    words,
    channelOf: channels.channelOf,
    payouts: [
      { ...terms, channelType: 'BANK', currency: 'USD' },
      { ...terms, channelType: 'BANK', currency: 'EUR' },
    ],
  })
  const call = handlerCaller([channels.handlers, handlers], clock)
  const open = async (
    currency = 'USD',
    accountNumber: string = systemIds.next(),
    kind?: 'SANDBOX',
    account: object = {},
  ) => {
    const workspace = await bank.workspace(kind)
    const wallet = await bank.wallet(currency, '1000.00', workspace)
    const as = systemIds.next<'account'>()
    const body = payoutAccount({ currency, accountNumber, ...account })
    const { bizId } = await call(channelContract.createWithdrawalChannel, { as, workspace, body })
    await call(channelContract.verifyWithdrawalChannel, { as: checker, params: { withdrawal_channel_id: bizId } })
    return { ...wallet, channel: bizId }
  }
  const withdraw = (
    { id, workspace, channel }: Awaited<ReturnType<typeof open>>,
    as: AccountId | Caller,
    amount: string,
    requestId: string = systemIds.next(),
  ) =>
    call(contract.createWithdrawal, {
      ...{ as, workspace, requestId },
      body: { walletBizId: id, withdrawalChannelBizId: channel, amount },
    })
  return { ...bank, call, open, withdraw, person: (email: string) => insertAccount(database, email, clock.now()) }
}

describe.each(stores)('limits of withdrawals on $name', (store) => {
  let fixture: Awaited<ReturnType<typeof openWithdrawals>>
  beforeAll(async () => {
    fixture = await openWithdrawals(store)
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: the daily limit counts all workspaces of a person', async () => {
    const { open, withdraw, person } = fixture
    const ada = await person(`${systemIds.next()}@example.test`)
    await withdraw(await open(), ada, '60.00')
    expect(await refusalOf(withdraw(await open(), ada, '40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    await withdraw(await open(), ada, '40.00')
    const another = await person(`${systemIds.next()}@example.test`)
    await withdraw(await open(), another, '100.00')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: accounts with the same address are one person', async () => {
    const { open, withdraw, person } = fixture
    const email = `${systemIds.next()}@example.test`
    const [one, other] = [
      await person(email),
      await insertAccount(store.database, email, fixture.clock.now(), 'SYSTEM'),
    ]
    await withdraw(await open(), one, '100.00')
    expect(await refusalOf(withdraw(await open(), other, '1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: the daily limit counts an external account of several people', async () => {
    const { open, withdraw, account } = fixture
    const shared = systemIds.next()
    await withdraw(await open('USD', shared), account(), '60.00')
    expect(await refusalOf(withdraw(await open('USD', shared), account(), '40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    await withdraw(await open('USD', shared), account(), '40.00')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: spellings of an account share its daily limit', async () => {
    const { open, withdraw, account } = fixture
    const iban = randomIban()
    const spellings = [
      [iban, 'COBADEFF'],
      [iban.toLowerCase(), 'cobadeff'],
      [iban.replaceAll(/.{4}/g, '$&\u00a0'), 'COBADEFFXXX'],
      [`\u200b${iban}`, 'COBA DE FF'],
    ] as const
    for (const [number, bankCode] of spellings)
      await withdraw(await open('USD', number, undefined, { bankCode }), account(), '25.00')
    for (const [number, bankCode] of spellings)
      expect(await refusalOf(withdraw(await open('USD', number, undefined, { bankCode }), account(), '1.00'))).toBe(
        'WALLET.LIMIT_EXCEEDED',
      )
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: accounts of an earlier release share it, too', async () => {
    const { open, withdraw, account, call } = fixture
    const iban = randomIban()
    const [first, second] = [await open('USD', iban), await open('USD', iban)]
    // The earlier release stored the number as it was sent, with a digest of that text.
    for (const [{ channel }, bankCode, number] of [
      [first, 'COBADEFF', iban.toLowerCase()],
      [second, 'COBA DE FF', `${iban.slice(0, 4)} ${iban.slice(4)}`],
    ] as const)
      await store.database
        .updateTable('withdrawal_channels')
        .set({
          bankCode,
          accountSealed: createSecretBox({ current: key, previous: [] }, systemRandomness).seal(
            'withdrawal-account',
            channel,
            Buffer.from(number),
          ),
          accountDigest: createKeyedDigest({ current: key, previous: [] })(
            'withdrawal-account',
            ...['BANK', 'USD', bankCode, iban],
          ),
        })
        .where('bizId', '=', bizId<'withdrawalChannel'>(channel))
        .execute()
    await withdraw(first, account(), '60.00')
    expect(await refusalOf(withdraw(second, account(), '40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    await withdraw(second, account(), '40.00')
    const again = { as: account(), workspace: first.workspace, body: payoutAccount({ accountNumber: iban }) }
    expect(await refusalOf(call(channelContract.createWithdrawalChannel, again))).toBe('STATE.CONFLICT')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: an account keeps its limit while a key is rotated', async () => {
    const { open, withdraw, account } = fixture
    const rotated = await openWithdrawals(store, 'refuse', { current: Buffer.alloc(32, 8), previous: [key] })
    const iban = randomIban()
    await withdraw(await open('USD', iban), account(), '60.00')
    const wallet = await rotated.open('USD', iban)
    expect(await refusalOf(rotated.withdraw(wallet, rotated.account(), '40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    await rotated.withdraw(wallet, rotated.account(), '40.00')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: a day is 24 hours, not a calendar day', async () => {
    const { open, withdraw, account, clock } = fixture
    const [wallet, ada] = [await open(), account()]
    await withdraw(wallet, ada, '100.00')
    clock.advance(dayMs - 1)
    expect(await refusalOf(withdraw(wallet, ada, '1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    clock.advance(1)
    await withdraw(wallet, ada, '100.00')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: parallel requests never exceed the limit of a person', async () => {
    const { open, withdraw, account } = fixture
    const ada = account()
    const wallets = await Promise.all(Array.from({ length: 4 }, () => open()))
    const codes = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const wallet = wallets[i % wallets.length]
        if (!wallet) throw new Error('no wallet')
        return refusalOf(withdraw(wallet, ada, '10.00'))
      }),
    )
    expect(codes.filter((code) => code === 'none')).toHaveLength(10)
    expect(codes.filter((code) => code === 'WALLET.LIMIT_EXCEEDED')).toHaveLength(30)
  })

  test('withdrawals.create 200: money of a sandbox does not count towards live limits', async () => {
    const { open, withdraw, account } = fixture
    const [ada, shared] = [account(), systemIds.next()]
    await withdraw(await open('USD', shared, 'SANDBOX'), ada, '100.00')
    expect(await refusalOf(withdraw(await open('USD', shared), ada, '100.00'))).toBe('none')
  })

  test('withdrawals.create 403 ACCESS.STEP_UP_REQUIRED: above the sum of a person; the same id then succeeds', async () => {
    const { open, withdraw, account, available, clock } = fixture
    const ada = callerOf(account())
    await withdraw(await open('EUR'), ada, '50.00')
    const [wallet, id] = [await open('EUR'), systemIds.next()]
    expect(await refusalOf(withdraw(wallet, ada, '1.00', id))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await available(wallet)).toBe('1000.00')
    const at = clock.now()
    const created = await withdraw(wallet, { ...ada, steppedUpAt: at }, '1.00', id)
    clock.advance(stepUpMs + 1)
    expect(await withdraw(wallet, ada, '1.00', id)).toEqual(created)
    expect(await refusalOf(withdraw(wallet, { ...ada, steppedUpAt: at }, '1.00'))).toBe('ACCESS.STEP_UP_REQUIRED')
  })

  test('withdrawals.create 422 WALLET.LIMIT_EXCEEDED: an API key above the sum, unless the settings allow it', async () => {
    const { open, withdraw, account } = fixture
    const key = { ...callerOf(account()), apiKeyId: systemIds.next() }
    expect(await refusalOf(withdraw(await open('EUR'), key, '50.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    const allowing = await openWithdrawals(store, 'allow')
    await allowing.withdraw(await allowing.open('EUR'), key, '50.01')
  })

  test('ledger.deleteExpiredUsage: keeps the amounts of the last 24 hours', async () => {
    const { open, withdraw, account, clock, ledger } = fixture
    const [wallet, ada] = [await open(), account()]
    await withdraw(wallet, ada, '60.00')
    clock.advance(dayMs - 1)
    await ledger.deleteExpiredUsage(1_000)
    expect(await refusalOf(withdraw(wallet, ada, '40.01'))).toBe('WALLET.LIMIT_EXCEEDED')
    clock.advance(1)
    expect(await ledger.deleteExpiredUsage(1_000)).toBeGreaterThanOrEqual(3)
    expect(await refusalOf(withdraw(wallet, ada, '100.00'))).toBe('none')
    expect(await ledger.deleteExpiredUsage(1_000)).toBe(0)
  })
})
