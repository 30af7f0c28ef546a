import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import * as recharges from '../../../src/domains/recharges/contract.ts'
import { createRecharges } from '../../../src/domains/recharges/index.ts'
import { createWithdrawalChannel, verifyWithdrawalChannel } from '../../../src/domains/withdrawal-channels/contract.ts'
import { createWithdrawalChannels } from '../../../src/domains/withdrawal-channels/index.ts'
import * as withdrawals from '../../../src/domains/withdrawals/contract.ts'
import { createWithdrawals } from '../../../src/domains/withdrawals/index.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { refusalOf, words } from '../world.ts'
import { dayMs, funds, lifeMs, type Order, plainWallet } from './money-model.ts'

const inDollars = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`

const { database, close } = await testDatabase()
afterAll(close)
const { clock, ledger, wallet } = await createTestBank(database)
const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
const key = Buffer.alloc(32, 7)
const channels = createWithdrawalChannels({
  ...{ database, ledger, clock, words, ids: systemIds },
  secretBox: createSecretBox(key, systemRandomness),
  digest: createKeyedDigest(key),
  members: { holdFor: async () => undefined },
  maxPerWorkspace: 1,
  isCountry: () => true,
})
const terms = { currency: 'USD', minAmount: '1.00', maxAmount: '100.00', feeRate: '0' }
const into = {
  ...({ channelCode: 'CARD', channelName: 'Card', channelType: 'CARD', proofRequired: false, enabled: true } as const),
  ...{ ...terms, dailyMax: '250.00', fixedFee: '0.30', feeRate: '0.029' },
}
const paidIn = createRecharges({
  ...{ database, ledger, clock, words, settings: { lifeMs, channels: [into] }, expiryMs: 1_000 },
  blobs: await openBlobs({ kind: 'disk' }, tmpdir()),
  fileOf: async () => undefined,
  isProof: () => true,
})
const paidOut = createWithdrawals({
  ...{ ledger, words, channelOf: channels.channelOf },
  payouts: [{ ...terms, channelType: 'BANK', dailyMax: '150.00', fixedFee: '0.00' }],
})
const call = handlerCaller([channels.handlers, paidIn.handlers, paidOut.handlers], clock)

const openWallet = async () => {
  const { id, workspace } = await wallet('USD', inDollars(funds))
  const { bizId } = await call(createWithdrawalChannel, { as: maker, workspace, body: payoutAccount({}) })
  await call(verifyWithdrawalChannel, { as: checker, params: { withdrawal_channel_id: bizId } })
  return { id, workspace, channel: bizId }
}

type Home = Awaited<ReturnType<typeof openWallet>>
const sweep = () => paidIn.jobs[0]?.work(null, { jobId: 'x', attempt: 1, signal: new AbortController().signal })

const inParams = (recharge_id: string) => ({ params: { recharge_id } })
const outParams = (withdrawal_id: string) => ({ params: { withdrawal_id } })
const reason = { reason: 'no' }

/** What moves an order on: of which list, from where to where, and who asks for it how. */
const moves = {
  cancel: { of: 'in', from: 'PENDING_PAYMENT', to: 'CANCELLED' },
  confirm: { of: 'in', from: 'PENDING_PAYMENT', to: 'COMPLETED' },
  takeBack: { of: 'out', from: 'PENDING_APPROVAL', to: 'CANCELLED' },
  approve: { of: 'out', from: 'PENDING_APPROVAL', to: 'PROCESSING' },
  reject: { of: 'out', from: 'PENDING_APPROVAL', to: 'REJECTED' },
  complete: { of: 'out', from: 'PROCESSING', to: 'COMPLETED' },
  fail: { of: 'out', from: 'PROCESSING', to: 'FAILED' },
} as const
type Move = keyof typeof moves

const moving = (move: Move, id: string, workspace: Home['workspace']): Promise<unknown> => {
  const [mine, theirs] = [{ as: maker, workspace }, { as: checker }]
  switch (move) {
    case 'cancel':
      return call(recharges.cancelRecharge, { ...mine, ...inParams(id), body: { cancelReason: 'no' } })
    case 'confirm':
      return call(recharges.confirmRecharge, { ...theirs, ...inParams(id) })
    case 'takeBack':
      return call(withdrawals.cancelWithdrawal, { ...mine, ...outParams(id) })
    case 'approve':
      return call(withdrawals.approveWithdrawal, { ...theirs, ...outParams(id) })
    case 'reject':
      return call(withdrawals.rejectWithdrawal, { ...theirs, ...outParams(id), body: reason })
    case 'complete':
      return call(withdrawals.completeWithdrawal, { ...theirs, ...outParams(id), body: {} })
    case 'fail':
      return call(withdrawals.failWithdrawal, { ...theirs, ...outParams(id), body: reason })
  }
}

const cents = fc.oneof(fc.constantFrom(99n, 100n, 5_000n, 10_000n, 10_001n), fc.bigInt(100n, 10_000n))
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('in' as const, 'out' as const), cents }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom<Move[]>('cancel', 'confirm', 'takeBack', 'approve', 'reject', 'complete', 'fail'),
      nth: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, lifeMs - 1, lifeMs, dayMs / 3) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
)

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

test('any course of recharges and withdrawals, over days and expiries, leaves what a plain model has', async () => {
  const course = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
    const home = await openWallet()
    const model = plainWallet()
    const making = (of: Order['of'], amount: string): Promise<{ bizId: string }> =>
      of === 'in'
        ? call(recharges.createRecharge, {
            ...{ as: maker, workspace: home.workspace },
            body: { walletBizId: home.id, channelCode: 'CARD', amount },
          })
        : call(withdrawals.createWithdrawal, {
            ...{ as: maker, workspace: home.workspace },
            body: { walletBizId: home.id, withdrawalChannelBizId: home.channel, amount },
          })
    for (const one of steps) {
      const now = clock.now()
      model.timeIs(now)
      if (one.kind === 'wait') clock.advance(one.ms)
      else if (one.kind === 'sweep') await sweep()
      else if ('cents' in one) {
        let id = ''
        const made = making(one.kind, inDollars(one.cents)).then(({ bizId }) => {
          id = bizId
        })
        const answer = await refusalOf(made)
        expect(answer).toBe(model.refusal(one.kind, one.cents, now))
        const status = one.kind === 'in' ? 'PENDING_PAYMENT' : 'PENDING_APPROVAL'
        if (answer === 'none') model.make({ id, of: one.kind, status, cents: one.cents, at: now })
      } else {
        const { of, from, to } = moves[one.kind]
        const order = model.orders.filter((each) => each.of === of).at(-1 - one.nth)
        if (!order) continue
        const isOpen = order.status === from
        expect(await refusalOf(moving(one.kind, order.id, home.workspace))).toBe(isOpen ? 'none' : 'STATE.CONFLICT')
        if (isOpen) model.move(order, to)
      }
      const balance = await ledger.readBalance({ wallet: home.id, workspace: home.workspace })
      expect([balance?.total.minor, balance?.held.minor]).toEqual([model.balance.total, model.balance.held])
    }
    model.timeIs(clock.now())
    const at = { as: maker, workspace: home.workspace }
    for (const { id, of, status } of model.orders) {
      const isIn = of === 'in'
      const told = isIn
        ? (await call(recharges.readRecharge, { ...at, ...inParams(id) })).rechargeStatus
        : (await call(withdrawals.readWithdrawal, { ...at, ...outParams(id) })).withdrawalStatus
      expect(told.code).toBe(status)
    }
  })
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(course, { seed, numRuns: 10 })
  expect(await ledger.verifyLedger()).toBeNull()
})
