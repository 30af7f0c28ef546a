import { sqlState } from '../../database/index.ts'
import { notFound, type OrderId, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import {
  type CommandContext,
  chargeParties,
  commandOrigin,
  type Ledger,
  type ListedOrder,
  type Order,
  type OrderCommand,
  type OrderMove,
} from '../../ledger/index.ts'
import {
  approvalMove,
  cancellationMove,
  completionMove,
  debitedWallet,
  failureMove,
  newWithdrawal,
  rejectionMove,
  toWithdrawal,
  withdrawalEntries,
} from './order.ts'
import {
  computeTerms,
  type PayoutChannel,
  type PayoutTariffs,
  type WithdrawalInput,
  type WithdrawalTerms,
} from './rules.ts'

export interface WithdrawalsPorts {
  ledger: Ledger
  payouts: PayoutTariffs
  /** Returns the channel, or undefined if it does not exist in the workspace. */
  channelOf(workspace: WorkspaceId, channel: string): Promise<PayoutChannel | undefined>
}

const readTerms = async (
  { ledger, payouts, channelOf }: WithdrawalsPorts,
  input: WithdrawalInput,
  workspace: WorkspaceId,
): Promise<WithdrawalTerms> => {
  const wallet = await ledger.readWallet({ wallet: input.wallet, workspace })
  if (!wallet) throw notFound('unknown wallet')
  const channel = await channelOf(workspace, input.channel)
  if (!channel) throw notFound('unknown withdrawal channel')
  return computeTerms(input, wallet, channel, payouts)
}

/**
 * The SQLSTATE of the trigger in withdrawal-channels/schema.ts. The trigger also detects concurrent changes of the
 * channel.
 */
const isInactiveChannel = (error: unknown): boolean => sqlState(error) === 'PW001'

const execute = async ({ ledger }: WithdrawalsPorts, command: OrderCommand): Promise<Order> => {
  try {
    return await ledger.execute(command)
  } catch (error) {
    if (!isInactiveChannel(error)) throw error
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'the channel is no longer active', cause: error })
  }
}

const holdFunds = async (
  ports: WithdrawalsPorts,
  input: WithdrawalInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => {
  const { workspace } = context
  const terms = await readTerms(ports, input, workspace)
  return execute(ports, {
    ...commandOrigin(context),
    parties: [debitedWallet(terms.wallet, terms.amount.currency, workspace)],
    create: newWithdrawal(terms, workspace),
    holds: [{ account: 'source', amount: terms.amount.minor }],
  })
}

/** Creates a withdrawal and holds its amount, including the fee. Nothing is posted until the payout is completed. */
export const createWithdrawal = (
  ports: WithdrawalsPorts,
  input: WithdrawalInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => holdFunds(ports, input, context))

/** Returns a withdrawal of the workspace. If the workspace is null, the withdrawal can belong to any workspace. */
export const readWithdrawal = (
  { ledger }: Pick<WithdrawalsPorts, 'ledger'>,
  scope: { id: OrderId; workspace: WorkspaceId | null },
): Promise<ListedOrder> => ledger.readOrder({ ...scope, type: 'WITHDRAWAL' })

/** Ends a withdrawal and releases its funds. Also works if the wallet is frozen. */
const releaseFunds = ({ ledger }: WithdrawalsPorts, move: OrderMove, context: CommandContext): Promise<Order> =>
  ledger.execute({ ...commandOrigin(context), parties: [], move })

/** Cancels a withdrawal before its approval. */
export const cancelWithdrawal = (
  ports: WithdrawalsPorts,
  { id }: { id: OrderId },
  context: CommandContext<WorkspaceId>,
): Promise<Order> => releaseFunds(ports, cancellationMove(id, context.workspace), context)

/** Rejects a withdrawal before its approval. */
export const rejectWithdrawal = (
  ports: WithdrawalsPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => releaseFunds(ports, rejectionMove(id, reason), context)

/** Marks an approved withdrawal as failed. */
export const failWithdrawal = (
  ports: WithdrawalsPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => releaseFunds(ports, failureMove(id, reason), context)

const startPayout = async (ports: WithdrawalsPorts, id: OrderId, context: CommandContext<null>): Promise<Order> => {
  const order = await readWithdrawal(ports, { id, workspace: null })
  const { workspaceBizId: workspace } = order
  const { wallet, amount, withdrawalChannelBizId } = toWithdrawal(order)
  const channel = await ports.channelOf(workspace, withdrawalChannelBizId)
  if (order.status === 'PENDING_APPROVAL' && channel?.channelStatus !== 'ACTIVE')
    throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'the channel was deactivated after the order was created' })
  return execute(ports, {
    ...commandOrigin(context),
    parties: [debitedWallet(wallet, amount.currency, workspace)],
    move: approvalMove(id),
  })
}

/** Approves a withdrawal. Throws CHANNEL.NOT_AVAILABLE if its channel has been deactivated. */
export const approveWithdrawal = (
  ports: WithdrawalsPorts,
  { id }: { id: OrderId },
  context: CommandContext<null>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => startPayout(ports, id, context))

/** Posts a completed payout. Also works if the wallet is frozen, because the funds are already held. */
export const completeWithdrawal = async (
  ports: WithdrawalsPorts,
  { id, externalReference }: { id: OrderId; externalReference: string | null },
  context: CommandContext<null>,
): Promise<Order> => {
  const order = await readWithdrawal(ports, { id, workspace: null })
  const withdrawal = toWithdrawal(order)
  const wallet = debitedWallet(withdrawal.wallet, withdrawal.amount.currency, order.workspaceBizId)
  return ports.ledger.execute({
    ...commandOrigin(context),
    parties: [{ ...wallet, active: false }, ...chargeParties(withdrawal)],
    move: completionMove(id, externalReference),
    entries: withdrawalEntries(withdrawal),
  })
}
