import type { DomainPorts } from '../../api/domain.ts'
import type { OwnerNoticeKind, OwnerNotices } from '../../api/notices.ts'
import { type Database, sqlState } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  formatMoney,
  type Instant,
  type OrderId,
  Refusal,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  chargeParties,
  commandOrigin,
  type IdempotencyKey,
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
  database: Database
  transaction: DomainPorts['transaction']
  notices: OwnerNotices
  ledger: Ledger
  payouts: PayoutTariffs
  /** Throws ACCESS.PAYOUT_HOLD if the member gained the permission recently. */
  assertNotHeld(member: { accountId: AccountId; workspaceId: WorkspaceId }, at: Instant): Promise<void>
  channelOf(workspace: WorkspaceId, channel: string): Promise<PayoutChannel | undefined>
}

const readTerms = async (
  { ledger, payouts, channelOf }: WithdrawalsPorts,
  input: WithdrawalInput,
  workspace: WorkspaceId,
): Promise<WithdrawalTerms> => {
  const wallet = assertFound(await ledger.readWallet({ wallet: input.wallet, workspace }), 'unknown wallet')
  const channel = assertFound(await channelOf(workspace, input.channel), 'unknown withdrawal channel')
  return computeTerms(input, wallet, channel, payouts)
}

/** The trigger in withdrawal-channels/schema.ts raises this error, also after a concurrent change. */
const isInactiveChannel = (error: unknown): boolean => sqlState(error) === 'PW001'

type RequestCommand = OrderCommand & { idempotency: IdempotencyKey }

/** Informs the owners in the same transaction. A repeated request informs nobody again. */
const executeWithNotice = (
  { transaction, ledger, notices }: WithdrawalsPorts,
  command: RequestCommand,
  { kind, actorId }: { kind: OwnerNoticeKind; actorId: AccountId | null },
): Promise<Order> =>
  transaction(async (tx) => {
    const within = ledger.within(tx)
    const isRepeated = (await within.findStoredResult(command.idempotency)) !== undefined
    const order = await within.execute(command)
    if (isRepeated) return order
    const { amount } = toWithdrawal(order)
    const about = `${formatMoney(amount)} ${amount.currency}`
    await notices.queue(tx, { kind, workspaceId: order.workspaceBizId, actorId, about, at: order.updatedAt })
    return order
  })

/** Throws `ifInactive` if the channel is not active. */
const execute = async (
  ports: WithdrawalsPorts,
  command: RequestCommand,
  notice: Parameters<typeof executeWithNotice>[2],
  ifInactive: 'CHANNEL.NOT_AVAILABLE' | 'STATE.CONFLICT' = 'CHANNEL.NOT_AVAILABLE',
): Promise<Order> => {
  try {
    return await executeWithNotice(ports, command, notice)
  } catch (error) {
    if (!isInactiveChannel(error)) throw error
    throw new Refusal(ifInactive, { internal: 'the channel is no longer active', cause: error })
  }
}

const holdFunds = async (
  ports: WithdrawalsPorts,
  input: WithdrawalInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => {
  const { actor: accountId, workspace } = context
  await ports.assertNotHeld({ accountId, workspaceId: workspace }, context.receivedAt)
  const terms = await readTerms(ports, input, workspace)
  const command = {
    ...commandOrigin(context),
    parties: [debitedWallet(terms.wallet, terms.amount.currency, workspace)],
    create: newWithdrawal(terms, context),
    holds: [{ account: 'source', amount: terms.amount.minor }],
  }
  return execute(ports, command, { kind: 'WITHDRAWAL_REQUESTED', actorId: context.actor })
}

/** Nothing is posted until the payout is completed. */
export const createWithdrawal = (
  ports: WithdrawalsPorts,
  input: WithdrawalInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => holdFunds(ports, input, context))

/** A null workspace selects any workspace. */
export const readWithdrawal = (
  { ledger }: Pick<WithdrawalsPorts, 'ledger'>,
  scope: { id: OrderId; workspace: WorkspaceId | null },
): Promise<ListedOrder> => ledger.readOrder({ ...scope, type: 'WITHDRAWAL' })

/** Also works for a frozen wallet. */
const releaseFunds = ({ ledger }: WithdrawalsPorts, move: OrderMove, context: CommandContext): Promise<Order> =>
  ledger.execute({ ...commandOrigin(context), parties: [], move })

export const cancelWithdrawal = (
  ports: WithdrawalsPorts,
  { id }: { id: OrderId },
  context: CommandContext<WorkspaceId>,
): Promise<Order> => releaseFunds(ports, cancellationMove(id, context.workspace), context)

export const rejectWithdrawal = (
  ports: WithdrawalsPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => releaseFunds(ports, rejectionMove(id, reason), context)

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
  const command = {
    ...commandOrigin(context),
    parties: [debitedWallet(wallet, amount.currency, workspace)],
    move: approvalMove(id, channel?.actors ?? []),
  }
  return execute(ports, command, { kind: 'WITHDRAWAL_APPROVED', actorId: null })
}

/** Throws CHANNEL.NOT_AVAILABLE if the channel has been deactivated. */
export const approveWithdrawal = (
  ports: WithdrawalsPorts,
  { id }: { id: OrderId },
  context: CommandContext<null>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => startPayout(ports, id, context))

/**
 * Also works for a frozen wallet, because the funds are already held. Throws STATE.CONFLICT if the channel has been
 * deactivated.
 */
export const completeWithdrawal = async (
  ports: WithdrawalsPorts,
  { id, externalReference }: { id: OrderId; externalReference: string | null },
  context: CommandContext<null>,
): Promise<Order> => {
  const order = await readWithdrawal(ports, { id, workspace: null })
  const withdrawal = toWithdrawal(order)
  const wallet = debitedWallet(withdrawal.wallet, withdrawal.amount.currency, order.workspaceBizId)
  const command = {
    ...commandOrigin(context),
    parties: [{ ...wallet, active: false }, ...chargeParties(withdrawal)],
    move: completionMove(id, externalReference),
    entries: withdrawalEntries(withdrawal),
  }
  return execute(ports, command, { kind: 'WITHDRAWAL_COMPLETED', actorId: null }, 'STATE.CONFLICT')
}
