import type { AccountId, Caller } from '../../kernel/index.ts'
import { type Idempotency, notFound, type OrderId, type RequestFacts, type WorkspaceId } from '../../kernel/index.ts'
import type { Ledger, Order, PostingCommand } from '../../ledger/index.ts'
import { approval, entriesOf, newTransfer, partiesOf, rejection } from './commands.ts'
import type { TransferRules, TransferTerms } from './rules.ts'
import { transferOf } from './transfer.ts'

export interface TransfersPorts {
  ledger: Ledger
  rules: TransferRules
}

/** Who commands, and under which request. */
export interface Acting {
  actor: AccountId
  workspace: WorkspaceId | null
  idempotency: Idempotency
  facts: Pick<RequestFacts, 'operationId' | 'portal' | 'requestId' | 'clientIp'> & { caller: Pick<Caller, 'apiKeyId'> }
}

const signed = ({ actor, workspace, idempotency, facts }: Acting): Omit<PostingCommand, 'parties'> => ({
  actor,
  idempotency: { account: actor, workspace, operation: facts.operationId, ...idempotency },
  audit: {
    portal: facts.portal,
    action: facts.operationId,
    requestId: facts.requestId,
    clientIp: facts.clientIp,
    // The actor is who made the key; which one it was is told beside.
    ...(facts.caller.apiKeyId !== null && { detail: { apiKey: facts.caller.apiKeyId } }),
  },
})

/** Moves the money at once, or sets it aside until somebody else agrees. */
export const create = (
  { ledger }: TransfersPorts,
  terms: TransferTerms,
  notes: { remark: string | null; clientReference: string | null },
  acting: Acting & { workspace: WorkspaceId },
): Promise<Order> =>
  ledger.execute({
    ...signed(acting),
    parties: partiesOf(terms, acting.workspace),
    create: newTransfer(terms, acting.workspace, notes),
    ...(terms.needsApproval
      ? { holds: [{ account: 'source', amount: terms.amount.minor + terms.fee.minor }] }
      : { entries: entriesOf(terms) }),
  })

/** A workspace's order, its own or one that came to it; null reaches every workspace's. */
export const read = async ({ ledger }: TransfersPorts, id: OrderId, workspace: WorkspaceId | null): Promise<Order> => {
  const order = await ledger.readOrder({ id, type: 'TRANSFER', workspace })
  if (!order) throw notFound('no such transfer')
  return order
}

/** Lets a pending transfer happen, out of the funds that it holds. */
export const approve = async (ports: TransfersPorts, id: OrderId, acting: Acting): Promise<Order> => {
  const transfer = transferOf(await read(ports, id, null))
  return ports.ledger.execute({
    ...signed(acting),
    parties: partiesOf(transfer, transfer.order.workspaceBizId),
    move: approval(id),
    entries: entriesOf(transfer),
  })
}

/** Ends a pending transfer and gives its funds back, a frozen wallet's too. */
export const reject = ({ ledger }: TransfersPorts, id: OrderId, reason: string, acting: Acting): Promise<Order> =>
  ledger.execute({ ...signed(acting), parties: [], move: rejection(id, reason) })
