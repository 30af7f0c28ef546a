import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import * as recharges from '../../../src/banking/recharges/contract.ts'
import { createRecharges } from '../../../src/banking/recharges/index.ts'
import { createWithdrawalChannel, verifyWithdrawalChannel } from '../../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../../src/banking/withdrawal-channels/networks.ts'
import * as withdrawals from '../../../src/banking/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/banking/withdrawals/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { confirmation } from '../../harness/confirmation.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { alwaysOpen, refusalOf, transactionOf, trustingMembers, unlimitedPayouts, words } from '../world.ts'
import { dayMs, funds, lifeMs, type Order, WalletModel } from './money-model.ts'

function inDollars(cents: bigint): string {
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
}

const { database, close } = await testDatabase()
afterAll(close)
const { clock, ledger, wallet } = await createTestBank(database)
await ledger.registerTypes()
const checker = systemIds.next<'account'>()
const key = Buffer.alloc(32, 7)
const channels = createWithdrawalChannels({
  assertSessionOpen: alwaysOpen,
  notices: { queue: async () => undefined },
  ...{ database, transaction: transactionOf(database), ledger, clock, words, ids: systemIds },
  secretBox: createSecretBox({ current: key, previous: [] }, systemRandomness),
  digest: createKeyedDigest({ current: key, previous: [] }),
  members: trustingMembers,
  maxPerWorkspace: 1,
  suspendYoungerThanMs: 259_200_000,
  isCountry: () => true,
  networks: defaultNetworks,
})
const terms = { currency: 'USD', minAmount: '1.00', maxAmount: '100.00', feeRate: '0' }
const rechargeChannel = {
  ...({ channelCode: 'CARD', channelName: 'Card', channelType: 'CARD', proofRequired: false, enabled: true } as const),
  ...{ ...terms, dailyMax: '250.00', fixedFee: '0.30', feeRate: '0.029' },
}
const rechargeDomain = createRecharges({
  ...{
    database,
    transaction: transactionOf(database),
    ledger,
    clock,
    words,
    settings: { lifeMs, referenceRequired: true, channels: [rechargeChannel] },
  },
  notices: { queue: async () => undefined },
  once: (_, work) => inTransaction(database, work),
  blobs: await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, tmpdir()),
  fileOf: async () => undefined,
  keepAsProof: async () => undefined,
  isProof: () => true,
})
const withdrawalDomain = createWithdrawals({
  notices: { queue: async () => undefined },
  database,
  transaction: transactionOf(database),
  ...{ ...unlimitedPayouts, ledger, words, channelOf: channels.channelOf },
  payouts: [{ ...terms, channelType: 'BANK', dailyMax: '150.00', fixedFee: '0.00' }],
})
const call = handlerCaller([channels.handlers, rechargeDomain.handlers, withdrawalDomain.handlers], clock)

/** The person and the account have no other orders. */
async function openWallet() {
  const maker = systemIds.next<'account'>()
  const { id, workspace } = await wallet('USD', inDollars(funds))
  const { bizId } = await call(createWithdrawalChannel, {
    as: maker,
    workspace,
    body: payoutAccount({ accountNumber: maker }),
  })
  await call(verifyWithdrawalChannel, { as: checker, params: { withdrawal_channel_id: bizId } })
  return { id, maker, workspace, channel: bizId }
}

type OpenedWallet = Awaited<ReturnType<typeof openWallet>>
function runExpiryJob() {
  return rechargeDomain.jobs[0]?.work(null, {
    jobId: 'x',
    attempt: 1,
    signal: new AbortController().signal,
    drop: () => undefined,
  })
}

function rechargeParams(recharge_id: string) {
  return { params: { recharge_id } }
}
function withdrawalParams(withdrawal_id: string) {
  return { params: { withdrawal_id } }
}
const reason = { reason: 'no' }

const moves = {
  cancel: { type: 'recharge', from: ['PENDING_PAYMENT'], to: 'CANCELLED' },
  confirm: { type: 'recharge', from: ['PENDING_PAYMENT', 'EXPIRED'], to: 'COMPLETED' },
  cancelPayout: { type: 'withdrawal', from: ['PENDING_APPROVAL'], to: 'CANCELLED' },
  approve: { type: 'withdrawal', from: ['PENDING_APPROVAL'], to: 'PROCESSING' },
  reject: { type: 'withdrawal', from: ['PENDING_APPROVAL'], to: 'REJECTED' },
  complete: { type: 'withdrawal', from: ['PROCESSING'], to: 'COMPLETED' },
  fail: { type: 'withdrawal', from: ['PROCESSING'], to: 'FAILED' },
} as const
type Move = keyof typeof moves

function send(move: Move, id: string, { maker, workspace }: OpenedWallet): Promise<unknown> {
  const [member, operator] = [{ as: maker, workspace }, { as: checker }]
  switch (move) {
    case 'cancel':
      return call(recharges.cancelRecharge, { ...member, ...rechargeParams(id), body: { cancelReason: 'no' } })
    case 'confirm':
      return call(recharges.confirmRecharge, { ...operator, ...rechargeParams(id), body: confirmation() })
    case 'cancelPayout':
      return call(withdrawals.cancelWithdrawal, { ...member, ...withdrawalParams(id) })
    case 'approve':
      return call(withdrawals.approveWithdrawal, { ...operator, ...withdrawalParams(id) })
    case 'reject':
      return call(withdrawals.rejectWithdrawal, { ...operator, ...withdrawalParams(id), body: reason })
    case 'complete':
      return call(withdrawals.completeWithdrawal, { ...operator, ...withdrawalParams(id), body: {} })
    case 'fail':
      return call(withdrawals.failWithdrawal, { ...operator, ...withdrawalParams(id), body: reason })
  }
}

const cents = fc.oneof(fc.constantFrom(99n, 100n, 5_000n, 10_000n, 10_001n), fc.bigInt(100n, 10_000n))
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('recharge' as const, 'withdrawal' as const), cents }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom<Move[]>('cancel', 'confirm', 'cancelPayout', 'approve', 'reject', 'complete', 'fail'),
      nth: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, lifeMs - 1, lifeMs, dayMs / 3) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expiryJob' as const) }) },
)

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

test('recharges and withdrawals in any order, over days and expiries, match a plain model', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    const opened = await openWallet()
    const model = new WalletModel()
    const create = (type: Order['type'], amount: string): Promise<{ bizId: string }> =>
      type === 'recharge'
        ? call(recharges.createRecharge, {
            ...{ as: opened.maker, workspace: opened.workspace },
            body: { walletBizId: opened.id, channelCode: 'CARD', amount },
          })
        : call(withdrawals.createWithdrawal, {
            ...{ as: opened.maker, workspace: opened.workspace },
            body: { walletBizId: opened.id, withdrawalChannelBizId: opened.channel, amount },
          })
    for (const step of steps) {
      const now = clock.now()
      model.expire(now)
      if (step.kind === 'wait') clock.advance(step.ms)
      else if (step.kind === 'expiryJob') await runExpiryJob()
      else if ('cents' in step) {
        let id = ''
        const result = create(step.kind, inDollars(step.cents)).then(({ bizId }) => {
          id = bizId
        })
        const code = await refusalOf(result)
        expect(code).toBe(model.createCode(step.kind, step.cents, now))
        const status = step.kind === 'recharge' ? 'PENDING_PAYMENT' : 'PENDING_APPROVAL'
        if (code === 'none') model.create({ id, type: step.kind, status, cents: step.cents, at: now })
      } else {
        const { type, from, to } = moves[step.kind]
        const order = model.orders.filter((each) => each.type === type).at(-1 - step.nth)
        if (!order) continue
        const isOpen = from.some((status) => status === order.status)
        expect(await refusalOf(send(step.kind, order.id, opened))).toBe(isOpen ? 'none' : 'STATE.CONFLICT')
        if (isOpen) model.move(order, to, now)
      }
      const balance = await ledger.readBalance({ wallet: opened.id, workspace: opened.workspace })
      expect([balance?.total.minor, balance?.held.minor]).toEqual([model.balance.total, model.balance.held])
    }
    model.expire(clock.now())
    const reader = { as: opened.maker, workspace: opened.workspace }
    for (const { id, type, status } of model.orders) {
      const current =
        type === 'recharge'
          ? (await call(recharges.readRecharge, { ...reader, ...rechargeParams(id) })).rechargeStatus
          : (await call(withdrawals.readWithdrawal, { ...reader, ...withdrawalParams(id) })).withdrawalStatus
      expect(current.code).toBe(status)
    }
  })
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(property, { seed, numRuns: 10 })
  expect(await ledger.verifyLedger()).toBeNull()
})
