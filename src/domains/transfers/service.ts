import { notFound, type OrderId, type WorkspaceId } from '../../kernel/index.ts'
import { type Acting, type Ledger, type Order, signedBy } from '../../ledger/index.ts'
import { approval, entriesOf, newTransfer, partiesOf, rejection } from './commands.ts'
import type { TransferRules, TransferTerms } from './rules.ts'
import { transferOf } from './transfer.ts'

export interface TransfersPorts {
  ledger: Ledger
  rules: TransferRules
}

/** Moves the money at once, or sets it aside until somebody else agrees. */
export const create = (
  { ledger }: TransfersPorts,
  terms: TransferTerms,
  notes: { remark: string | null; clientReference: string | null },
  acting: Acting<WorkspaceId>,
): Promise<Order> =>
  ledger.execute({
    ...signedBy(acting),
    parties: partiesOf(terms, acting.workspace),
    create: newTransfer(terms, acting.workspace, notes),
    ...(terms.needsApproval
      ? { holds: [{ account: 'source', amount: terms.amount.minor + terms.fee.minor }] }
      : { entries: entriesOf(terms) }),
  })

/** A workspace's order, its own or one that has come to it; null reaches every workspace's. */
export const read = async ({ ledger }: TransfersPorts, id: OrderId, workspace: WorkspaceId | null): Promise<Order> => {
  const order = await ledger.readOrder({ id, type: 'TRANSFER', workspace })
  if (!order) throw notFound('no such transfer')
  return order
}

/** Lets a pending transfer happen, out of the funds that it holds. */
export const approve = async (ports: TransfersPorts, id: OrderId, acting: Acting): Promise<Order> => {
  const transfer = transferOf(await read(ports, id, null))
  return ports.ledger.execute({
    ...signedBy(acting),
    parties: partiesOf(transfer, transfer.order.workspaceBizId),
    move: approval(id),
    entries: entriesOf(transfer),
  })
}

/** Ends a pending transfer and gives its funds back, a frozen wallet's too. */
export const reject = ({ ledger }: TransfersPorts, id: OrderId, reason: string, acting: Acting): Promise<Order> =>
  ledger.execute({ ...signedBy(acting), parties: [], move: rejection(id, reason) })
