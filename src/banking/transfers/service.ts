import type { AccountId, Instant, OrderId, WorkspaceId } from '../../kernel/index.ts'
import {
  type CommandContext,
  commandOrigin,
  type Ledger,
  type ListedOrder,
  type Order,
  UsageExceeded,
} from '../../ledger/index.ts'
import { approvalMove, newTransfer, rejectionMove, toTransfer, transferEntries, transferParties } from './order.ts'
import { computeTerms, type TransferInput, type TransferRules, type TransferTerms } from './rules.ts'

export interface TransfersPorts {
  ledger: Ledger
  rules: TransferRules
  /** Throws ACCESS.PAYOUT_HOLD if the member gained the permission recently. isExempt runs only for such a member. */
  assertNotHeld(
    member: { accountId: AccountId; workspaceId: WorkspaceId },
    at: Instant,
    isExempt: () => Promise<boolean>,
  ): Promise<void>
}

const executeTransfer = (
  { ledger }: TransfersPorts,
  terms: TransferTerms,
  context: CommandContext<WorkspaceId>,
): Promise<Order> =>
  ledger.execute({
    ...commandOrigin(context),
    parties: transferParties(terms, context.workspace),
    create: newTransfer(terms, context),
    ...(terms.needsApproval
      ? { holds: [{ account: 'source', amount: terms.amount.minor + terms.fee.minor }] }
      : { entries: transferEntries(terms) }),
  })

const sendFunds = async (
  ports: TransfersPorts,
  input: TransferInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => {
  const { actor: accountId, workspace: workspaceId } = context
  const staysInside = async () =>
    (await ports.ledger.readWallet({ wallet: input.target, workspace: workspaceId })) !== undefined
  await ports.assertNotHeld({ accountId, workspaceId }, context.receivedAt, staysInside)
  const terms = computeTerms(input, ports.rules)
  try {
    return await executeTransfer(ports, terms, context)
  } catch (error) {
    if (!(error instanceof UsageExceeded)) throw error
    return executeTransfer(ports, { ...terms, needsApproval: true }, context)
  }
}

/** An amount that completes without approval counts towards the threshold of the person's next transfers. */
export const createTransfer = (
  ports: TransfersPorts,
  input: TransferInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => sendFunds(ports, input, context))

/** A null workspace selects any workspace. */
export const readTransfer = (
  { ledger }: TransfersPorts,
  scope: { id: OrderId; workspace: WorkspaceId | null },
): Promise<ListedOrder> => ledger.readOrder({ ...scope, type: 'TRANSFER' })

export const approveTransfer = async (
  ports: TransfersPorts,
  { id }: { id: OrderId },
  context: CommandContext<null>,
): Promise<Order> => {
  const order = await readTransfer(ports, { id, workspace: null })
  const transfer = toTransfer(order)
  return ports.ledger.execute({
    ...commandOrigin(context),
    parties: transferParties(transfer, order.workspaceBizId),
    move: approvalMove(id),
    entries: transferEntries(transfer),
  })
}

/** Also works for a frozen wallet. */
export const rejectTransfer = (
  { ledger }: TransfersPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => ledger.execute({ ...commandOrigin(context), parties: [], move: rejectionMove(id, reason) })
