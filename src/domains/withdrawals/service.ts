import { sqlState } from '../../database/index.ts'
import { invalid, notFound, type OrderId, Refusal, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  type Acting,
  chargeOf,
  housesOf,
  type Ledger,
  type Order,
  type OrderCommand,
  type OrderMove,
  type ReadOrder,
  signedBy,
} from '../../ledger/index.ts'
import {
  approval,
  cancellation,
  completion,
  entriesOf,
  failure,
  newWithdrawal,
  payer,
  rejection,
  type WithdrawalTerms,
} from './commands.ts'
import type { Payouts, PayoutType } from './rules.ts'
import { withdrawalOf } from './withdrawal.ts'

export interface WithdrawalsPorts {
  ledger: Ledger
  payouts: Payouts
  /** Undefined for an unknown channel and for another workspace's alike. */
  channelOf(
    workspace: WorkspaceId,
    channel: string,
  ): Promise<{ channelType: PayoutType; channelStatus: string; currency: string } | undefined>
}

export interface Asked {
  wallet: WalletId
  channel: string
  amount: string
  remark: string | null
}

const termsOf = async (ports: WithdrawalsPorts, asked: Asked, workspace: WorkspaceId): Promise<WithdrawalTerms> => {
  const { wallet, channel, remark } = asked
  const found = await ports.ledger.readWallet({ wallet, workspace })
  if (!found) throw notFound('no such wallet')
  const to = await ports.channelOf(workspace, channel)
  if (!to) throw notFound('no such withdrawal channel')
  if (to.currency !== found.currency) throw invalid('withdrawalChannelBizId', `no channel of ${found.currency}`)
  const tariff = ports.payouts(to.channelType, found.currency)
  if (to.channelStatus !== 'ACTIVE' || !tariff)
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: `a ${to.channelStatus} channel in ${to.currency}` })
  return { ...chargeOf(tariff, asked.amount), wallet, channel, channelType: to.channelType, tariff, remark }
}

/** SQLSTATE of the trigger in withdrawal-channels/schema.ts, which also sees concurrent changes of the channel. */
const channelIsGone = (error: unknown): boolean => sqlState(error) === 'PW001'

const execute = async ({ ledger }: WithdrawalsPorts, command: OrderCommand): Promise<Order> => {
  try {
    return await ledger.execute(command)
  } catch (error) {
    if (!channelIsGone(error)) throw error
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'the channel is no longer active', cause: error })
  }
}

const hold = async (ports: WithdrawalsPorts, asked: Asked, acting: Acting<WorkspaceId>): Promise<Order> => {
  const { workspace } = acting
  const terms = await termsOf(ports, asked, workspace)
  const { wallet, amount } = terms
  return execute(ports, {
    ...signedBy(acting),
    parties: [payer(wallet, amount.currency, workspace, true)],
    create: newWithdrawal(terms, workspace),
    holds: [{ account: 'source', amount: amount.minor }],
  })
}

/** Sets the whole amount aside, its fee within it; nothing is posted before the payment has been made. */
export const create = (ports: WithdrawalsPorts, asked: Asked, acting: Acting<WorkspaceId>): Promise<Order> =>
  ports.ledger.orEarlierOrder(acting.key, () => hold(ports, asked, acting))

/** A workspace's withdrawal; null reaches every workspace's. */
export const read = async (
  { ledger }: Pick<WithdrawalsPorts, 'ledger'>,
  id: OrderId,
  workspace: WorkspaceId | null,
): Promise<ReadOrder> => {
  const order = await ledger.readOrder({ id, type: 'WITHDRAWAL', workspace })
  if (!order) throw notFound('no such withdrawal')
  return order
}

/** Ends one and gives its funds back, a frozen wallet's too. */
const release = ({ ledger }: WithdrawalsPorts, move: OrderMove, acting: Acting): Promise<Order> =>
  ledger.execute({ ...signedBy(acting), parties: [], move })

export const cancel = (ports: WithdrawalsPorts, id: OrderId, acting: Acting<WorkspaceId>): Promise<Order> =>
  release(ports, cancellation(id, acting.workspace), acting)

export const reject = (ports: WithdrawalsPorts, id: OrderId, reason: string, acting: Acting): Promise<Order> =>
  release(ports, rejection(id, reason), acting)

export const fail = (ports: WithdrawalsPorts, id: OrderId, reason: string, acting: Acting): Promise<Order> =>
  release(ports, failure(id, reason), acting)

const letGo = async (ports: WithdrawalsPorts, id: OrderId, acting: Acting): Promise<Order> => {
  const order = await read(ports, id, null)
  const { workspaceBizId: workspace } = order
  const { wallet, amount, withdrawalChannelBizId } = withdrawalOf(order)
  const to = await ports.channelOf(workspace, withdrawalChannelBizId)
  if (order.status === 'PENDING_APPROVAL' && to?.channelStatus !== 'ACTIVE')
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'the channel was taken back after the order was made' })
  return execute(ports, {
    ...signedBy(acting),
    parties: [payer(wallet, amount.currency, workspace, true)],
    move: approval(id),
  })
}

/** Nothing goes to a channel that has been taken back while its order waited: what is left is to refuse the order. */
export const approve = (ports: WithdrawalsPorts, id: OrderId, acting: Acting): Promise<Order> =>
  ports.ledger.orEarlierOrder(acting.key, () => letGo(ports, id, acting))

/** The payment has been made: whatever became of the wallet since, it has paid. */
export const complete = async (
  ports: WithdrawalsPorts,
  id: OrderId,
  externalReference: string | null,
  acting: Acting,
): Promise<Order> => {
  const order = await read(ports, id, null)
  const withdrawal = withdrawalOf(order)
  const { wallet, amount } = withdrawal
  return ports.ledger.execute({
    ...signedBy(acting),
    parties: [payer(wallet, amount.currency, order.workspaceBizId, false), ...housesOf(withdrawal)],
    move: completion(id, externalReference),
    entries: entriesOf(withdrawal),
  })
}
