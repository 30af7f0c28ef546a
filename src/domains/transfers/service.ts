import type { OrderId, WorkspaceId } from '../../kernel/index.ts'
import { type CommandContext, commandOrigin, type Ledger, type ListedOrder, type Order } from '../../ledger/index.ts'
import { approvalMove, newTransfer, rejectionMove, toTransfer, transferEntries, transferParties } from './order.ts'
import { computeTerms, type TransferInput, type TransferRules } from './rules.ts'

export interface TransfersPorts {
  ledger: Ledger
  rules: TransferRules
}

/** Creates a transfer. Moves the funds, or holds them if an operator has to approve the transfer. */
export const createTransfer = (
  { ledger, rules }: TransfersPorts,
  input: TransferInput,
  context: CommandContext<WorkspaceId>,
): Promise<Order> => {
  const terms = computeTerms(input, rules)
  return ledger.execute({
    ...commandOrigin(context),
    parties: transferParties(terms, context.workspace),
    create: newTransfer(terms, context.workspace),
    ...(terms.needsApproval
      ? { holds: [{ account: 'source', amount: terms.amount.minor + terms.fee.minor }] }
      : { entries: transferEntries(terms) }),
  })
}

/**
 * Returns a transfer that the workspace sent or received. If the workspace is null, the transfer can belong to any
 * workspace.
 */
export const readTransfer = (
  { ledger }: TransfersPorts,
  scope: { id: OrderId; workspace: WorkspaceId | null },
): Promise<ListedOrder> => ledger.readOrder({ ...scope, type: 'TRANSFER' })

/** Approves a pending transfer and moves the held funds. */
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

/** Rejects a pending transfer and releases its funds. Also works if the wallet is frozen. */
export const rejectTransfer = (
  { ledger }: TransfersPorts,
  { id, reason }: { id: OrderId; reason: string },
  context: CommandContext<null>,
): Promise<Order> => ledger.execute({ ...commandOrigin(context), parties: [], move: rejectionMove(id, reason) })
