import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replyText } from '../../src/backends/index.ts'
import { exchangeStatus } from '../../src/banking/exchanges/contract.ts'
import { newExchange } from '../../src/banking/exchanges/order.ts'
import { toExchangeView } from '../../src/banking/exchanges/view.ts'
import { rechargeStatus } from '../../src/banking/recharges/contract.ts'
import { newRecharge } from '../../src/banking/recharges/order.ts'
import { parseChannels } from '../../src/banking/recharges/rules.ts'
import { toRechargeView } from '../../src/banking/recharges/view.ts'
import { transferStatus } from '../../src/banking/transfers/contract.ts'
import { newTransfer } from '../../src/banking/transfers/order.ts'
import { toTransferView } from '../../src/banking/transfers/view.ts'
import { withdrawalChannelStatus } from '../../src/banking/withdrawal-channels/contract.ts'
import { toChannelView } from '../../src/banking/withdrawal-channels/view.ts'
import { withdrawalStatus } from '../../src/banking/withdrawals/contract.ts'
import { newWithdrawal } from '../../src/banking/withdrawals/order.ts'
import { toWithdrawalView } from '../../src/banking/withdrawals/view.ts'
import { maxReplyBytesOf } from '../../src/config/index.ts'
import { catalogue } from '../../src/contract/index.ts'
import {
  bizId,
  type CodedFamily,
  domainOf,
  isCurrency,
  locales,
  money,
  toInstant,
  toIso,
} from '../../src/kernel/index.ts'
import { memberContext, type Order, type OrderData, type Viewer } from '../../src/ledger/index.ts'
import { systemIds as ids } from '../../src/platform/runtime/index.ts'
import { createRequestContext } from '../harness/request-context.ts'
import { testSettings } from '../harness/settings.ts'
import { callerOf, testClock, words } from './world.ts'

function arbitraryId<Kind extends string>() {
  return fc.uuid().map((uuid) => bizId<Kind>(uuid))
}
/** Years of four digits. */
const instant = fc.integer({ min: 0, max: 253_402_300_799_999 }).map(toInstant)
const text = fc.string({ unit: 'binary', maxLength: 256 })
const note = fc.option(text)
const currency = fc.constantFrom('USD', 'JPY', 'KWD', 'BTC', 'ETH').filter(isCurrency)
const minor = fc.bigInt({ min: 0n, max: 10n ** 30n })
const amounts = fc
  .tuple(currency, minor, minor)
  .map(([unit, one, two]) => ({ amount: money(one + two, unit), fee: money(two, unit), net: money(one, unit) }))

const workspaceId = ids.next<'workspace'>()
const context = memberContext({
  ...createRequestContext(testClock()),
  caller: callerOf(ids.next<'account'>()),
  workspace: { id: workspaceId, isOwner: true, permissions: new Set() },
  idempotency: { key: 'one', bodyHash: 'hash' },
})
const [channel] = parseChannels(testSettings({}).money.recharge.channels).values()
if (!channel) throw new Error('no recharge channel')
const { tariff } = channel

function orAsCreated(changed: fc.Arbitrary<OrderData | undefined>[]) {
  return fc.oneof(fc.constant({}), ...changed)
}
function dataOf(created: fc.Arbitrary<OrderData>, ...changed: fc.Arbitrary<OrderData | undefined>[]) {
  return fc.tuple(created, orAsCreated(changed)).map((parts) => Object.assign({}, ...parts))
}

const transferData = dataOf(
  fc
    .record({ remark: note, clientReference: note, charge: amounts })
    .map(({ charge, ...notes }) => ({
      ...charge,
      ...notes,
      source: ids.next<'wallet'>(),
      target: ids.next<'wallet'>(),
    }))
    .map(
      (terms) =>
        newTransfer({ ...terms, needsApproval: false, maxWithoutApproval: null }, context, context.receivedAt).order
          .data,
    ),
  fc.constantFrom({ failureCode: 'APPROVAL_REJECTED' }, { failureCode: 'SANDBOX_RESET' }),
)

const exchangeData = fc
  .record({ source: amounts, target: amounts, rate: fc.stringMatching(/^[1-9]\d{0,11}(\.\d{1,12})?$/) })
  .map(({ source: { amount, fee }, target, rate }) => {
    const figures = { source: amount, fee, target: target.amount, rate, fixedSide: 'SOURCE' as const }
    const wallets = { sourceWallet: ids.next<'wallet'>(), targetWallet: ids.next<'wallet'>() }
    return newExchange(ids.next<'quote'>(), wallets, figures, workspaceId).order.data
  })

const rechargeData = dataOf(
  fc
    .tuple(amounts, instant)
    .map(([charge, at]) => [{ ...charge, channel, wallet: ids.next<'wallet'>() }, toIso(at)] as const)
    .map(([terms, expiresAt]) => newRecharge(terms, workspaceId, expiresAt).order.data),
  text.map((cancelReason) => ({ cancelReason })),
  text.map((proofSha256) => ({ proofFileBizId: ids.next(), proofSha256 })),
  text.map((rejectReason) => ({ rejectReason })),
  note.map((externalReference) => ({ externalReference })),
)

const withdrawalData = dataOf(
  fc
    .tuple(amounts, note)
    .map(([charge, remark]) => ({ ...charge, remark, tariff, channelType: 'BANK' as const, accountDigest: '' }))
    .map((terms) => ({ ...terms, wallet: ids.next<'wallet'>(), channel: ids.next() }))
    .map((terms) => newWithdrawal(terms, context).order.data),
  text.map((failureReason) => ({ failureReason })),
  note.map((externalReference) => ({ externalReference })),
)

function orderOf(family: CodedFamily, data: fc.Arbitrary<OrderData>): fc.Arbitrary<Order> {
  const status = fc.constantFrom(...family.codes)
  const step = fc.record({ status, at: instant, actorBizId: fc.option(arbitraryId<'account'>()), reason: note })
  return fc.record({
    bizId: arbitraryId<'order'>(),
    workspaceBizId: fc.constant(workspaceId),
    counterpartyWorkspaceBizId: fc.option(arbitraryId<'workspace'>()),
    orderType: fc.constant('ANY'),
    orderNo: text,
    status,
    version: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    sourceWalletBizId: arbitraryId<'wallet'>(),
    targetWalletBizId: arbitraryId<'wallet'>(),
    createdBy: fc.option(arbitraryId<'account'>()),
    data,
    createdAt: instant,
    updatedAt: instant,
    history: fc.array(step, { minLength: 1, maxLength: 8 }),
  })
}

const newChannel = fc.record({
  bizId: arbitraryId<'withdrawalChannel'>(),
  workspaceBizId: arbitraryId<'workspace'>(),
  channelType: fc.constantFrom('BANK' as const, 'CRYPTO' as const),
  currency,
  country: text,
  accountHolderName: text,
  maskedAccount: text,
  bankCode: note,
  network: note,
  channelStatus: fc.constantFrom(...withdrawalChannelStatus.codes),
  rejectReason: note,
  createdBy: arbitraryId<'account'>(),
  verifiedBy: fc.option(arbitraryId<'account'>()),
  createdAt: instant,
  updatedAt: instant,
})

/** The owner, the recipient of a transfer, or an operator. */
const viewer: fc.Arbitrary<Viewer> = fc.record({
  workspace: fc.option(fc.constantFrom(workspaceId, ids.next<'workspace'>())),
  words: fc.constant(words),
  locale: fc.constantFrom(...locales),
})

function viewsOf<T>(value: fc.Arbitrary<T>, toView: (value: T, viewer: Viewer) => object): fc.Arbitrary<object> {
  return fc.tuple(value, viewer).map((parts) => toView(...parts))
}

const views: Record<string, fc.Arbitrary<object>> = {
  transfers: viewsOf(orderOf(transferStatus, transferData), toTransferView),
  exchanges: viewsOf(orderOf(exchangeStatus, exchangeData), toExchangeView),
  recharges: viewsOf(orderOf(rechargeStatus, rechargeData), toRechargeView),
  withdrawals: viewsOf(orderOf(withdrawalStatus, withdrawalData), toWithdrawalView),
  withdrawalChannels: viewsOf(newChannel, toChannelView),
}

/** Their reply is checked after the commit: docs/decisions/0046-one-connection-per-transaction.md. */
test.each(catalogue.filter(({ policy }) => policy.idempotent))(
  '$id 200: every view of what the command stores matches its reply schema and the size limit',
  ({ id, reply }) => {
    const domain = domainOf(id)
    const found = views[domain]
    const maxBytes = maxReplyBytesOf(testSettings({}), domain)
    if (!found || typeof reply === 'string') throw new Error(`add the views of ${id}`)
    const check = (view: object) => {
      const sent = replyText(reply, view, maxBytes, (internal) => new Error(internal))
      expect(JSON.parse(sent)).toEqual(JSON.parse(JSON.stringify(view)))
    }
    fc.assert(fc.property(found, check), { numRuns: 300 })
  },
)
