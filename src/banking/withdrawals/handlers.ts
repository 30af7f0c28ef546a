import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNoticeKind, OwnerNotices } from '../../api/notices.ts'
import { type Database, sqlState } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  conflict,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  type Instant,
  notFound,
  Refusal,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { createOrders, type IdempotencyKey, type Ledger, type Order } from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { debitedParty, newWithdrawal, payoutPostings, returnedPostings, toWithdrawal } from './order.ts'
import {
  computeTerms,
  type PayoutChannel,
  type PayoutTariffs,
  type WithdrawalInput,
  type WithdrawalTerms,
} from './rules.ts'
import { toWithdrawalView } from './view.ts'

export interface WithdrawalsPorts {
  database: Database
  transaction: DomainPorts['transaction']
  notices: OwnerNotices
  ledger: Ledger
  payouts: PayoutTariffs
  words: Words
  /** Throws ACCESS.PAYOUT_HOLD if the member gained the permission recently. */
  assertNotHeld(member: { accountId: AccountId; workspaceId: WorkspaceId }, at: Instant): Promise<void>
  channelOf(workspace: WorkspaceId, channel: string): Promise<PayoutChannel | undefined>
}

export function createHandlers(ports: WithdrawalsPorts): HandlerTable {
  const { ledger, words, assertNotHeld, channelOf } = ports
  const orders = createOrders(contract.withdrawals, { ledger, words }, toWithdrawalView)
  return createHandlerTable(contract, {
    listWithdrawals: orders.list,
    readWithdrawal: orders.read,
    listAllWithdrawals: orders.listAll,
    readAnyWithdrawal: orders.readAny,

    createWithdrawal: orders.create(async ({ body }, context) => {
      const { actor, key, workspace } = context
      await assertNotHeld({ accountId: actor, workspaceId: workspace }, context.receivedAt)
      const { walletBizId, withdrawalChannelBizId: channel, amount, remark = null } = body
      const terms = await readTerms(ports, { wallet: bizId<'wallet'>(walletBizId), channel, amount, remark }, workspace)
      const within = withNotice(ports, { key, kind: 'WITHDRAWAL_REQUESTED', actorId: actor })
      return orders.open('create', context, { ...newWithdrawal(terms, context), within })
    }),

    cancelWithdrawal: orders.move('cancel'),
    rejectWithdrawal: orders.move('reject', ({ body }) => body),
    failWithdrawal: orders.move('fail', ({ body }) => body),

    /** A person who created or verified the payout account cannot approve. */
    approveWithdrawal: orders.move('approve', async (_, { key }, read) => {
      const order = await read()
      const channel = await channelOf(order.workspaceBizId, toWithdrawal(order).withdrawalChannelBizId)
      if (order.status === 'PENDING_APPROVAL' && channel?.channelStatus !== 'ACTIVE')
        throw new Refusal('CHANNEL.NOT_AVAILABLE', {
          internal: 'the channel was deactivated after the order was created',
        })
      return {
        parties: [debitedParty(order)],
        priorActors: channel?.actors ?? [],
        within: withNotice(ports, { key, kind: 'WITHDRAWAL_APPROVED', actorId: null }),
      }
    }),

    completeWithdrawal: orders.move('complete', async ({ body }, { key }, read) => ({
      ...payoutPostings(await read()),
      data: { externalReference: body?.externalReference ?? null },
      within: withNotice(ports, { key, kind: 'WITHDRAWAL_COMPLETED', actorId: null, ifInactive: 'STATE.CONFLICT' }),
    })),

    /** Takes two operators at any amount: the one who recorded the payout cannot return it. */
    returnWithdrawal: orders.move('return', async ({ body }, { actor, key }, read) => {
      const order = await read()
      const completer = order.history.findLast(({ status }) => status === 'COMPLETED')?.actorBizId
      if (order.status === 'COMPLETED') {
        if (!completer) throw conflict('the history names no operator who completed it')
        await ledger.assertDifferentPerson(completer, actor)
      }
      return {
        ...body,
        ...returnedPostings(order),
        within: withNotice(ports, { key, kind: 'WITHDRAWAL_RETURNED', actorId: null }),
      }
    }),
  })
}

async function readTerms(
  { ledger, payouts, channelOf }: WithdrawalsPorts,
  input: WithdrawalInput,
  workspace: WorkspaceId,
): Promise<WithdrawalTerms> {
  const wallet = await ledger.readWallet({ wallet: input.wallet, workspace })
  if (!wallet) throw notFound('unknown wallet')
  const channel = await channelOf(workspace, input.channel)
  if (!channel) throw notFound('unknown withdrawal channel')
  return computeTerms(input, wallet, channel, payouts)
}

interface Notice {
  key: IdempotencyKey
  kind: OwnerNoticeKind
  actorId: AccountId | null
  /** The refusal if the channel is not active. */
  ifInactive?: 'CHANNEL.NOT_AVAILABLE' | 'STATE.CONFLICT'
}

/** Informs the owners in the same transaction. A repeated request informs nobody again. */
function withNotice(
  { transaction, ledger, notices }: WithdrawalsPorts,
  { key, kind, actorId, ifInactive = 'CHANNEL.NOT_AVAILABLE' }: Notice,
) {
  return async (execute: (ledger: Ledger) => Promise<Order>): Promise<Order> => {
    try {
      return await transaction(async (tx) => {
        const within = ledger.within(tx)
        const isRepeated = (await within.findStoredResult(key)) !== undefined
        const order = await execute(within)
        if (isRepeated) return order
        const { amount } = toWithdrawal(order)
        const about = `${formatMoney(amount)} ${amount.currency}`
        await notices.queue(tx, { kind, workspaceId: order.workspaceBizId, actorId, about, at: order.updatedAt })
        return order
      })
    } catch (error) {
      if (!isInactiveChannel(error)) throw error
      throw new Refusal(ifInactive, { internal: 'the channel is no longer active', cause: error })
    }
  }
}

/** The trigger in withdrawal-channels/schema.ts raises this error, also after a concurrent change. */
function isInactiveChannel(error: unknown): boolean {
  return sqlState(error) === 'PW001'
}
