import { type Expiry, expiryOf, type LifeCycle, type Move } from '../../contract/ledger/life-cycle.ts'
import { type Instant, type OrderId, Refusal, type WorkspaceId } from '../../kernel/index.ts'
import type { OrderMove } from '../commands/command.ts'
import type { OrderType } from '../contract.ts'
import type { Ledger } from '../ledger.ts'
import { expiredAt, type Order } from '../order.ts'

export type NamedLifeCycle = LifeCycle & { readonly name: OrderType }

/** After its expiry, the order has the status of its expiry, even if the job has not recorded that yet. */
export function withExpiry<O extends Order>(type: LifeCycle, order: O, now: Instant): O {
  const expiry = expiryOf(type)
  const at = expiry ? expiredAt(order, expiry, now) : null
  if (!expiry || at === null) return order
  const expired = { status: expiry.to, at, actorBizId: null, reason: null }
  const before = order.history.filter(({ status }) => status !== expired.status)
  return { ...order, status: expired.status, updatedAt: at, history: [...before, expired] }
}

/** Orders per batch. A smaller batch was the last one. */
export const expiryBatchSize = 200

interface ExpiryRun {
  requestId: string
  /** Null for all workspaces. */
  workspace: WorkspaceId | null
  signal?: AbortSignal
}

/**
 * Ends one batch of orders whose expiry has passed, oldest first, and returns the number found. Skips orders that another
 * command has changed.
 */
export async function expireOrders(
  ledger: Ledger,
  type: NamedLifeCycle,
  { requestId, workspace, signal }: ExpiryRun,
): Promise<number> {
  const expiry = expiryOf(type)
  if (!expiry) return 0
  const due = { type: type.name, status: expiry.from, workspace, limit: expiryBatchSize } as const
  const orders = await ledger.listDueOrders({ ...due, at: ledger.now() })
  for (const id of orders) {
    if (signal?.aborted) break
    await expireOrder(ledger, type, { id, expiry, requestId })
  }
  return orders.length
}

/** Records the expiry of an order. Does nothing if another command has changed the order. */
export async function expireOrder(
  ledger: Ledger,
  type: NamedLifeCycle,
  { id, requestId, expiry: { from, to, holds, job } }: { id: OrderId; requestId: string; expiry: Expiry },
): Promise<void> {
  const audit = { portal: 'SYSTEM', action: job, requestId, clientIp: '' } as const
  const move = {
    id,
    type: type.name,
    workspace: null,
    expected: [from],
    steps: [{ status: to }],
    ...endOf(holds),
  } as const
  try {
    await ledger.execute({ actor: null, audit, parties: [], move })
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'STATE.CONFLICT') throw error
  }
}

export function endOf(holds: Move['holds']): Pick<OrderMove, 'endHolds'> {
  return holds === 'RELEASED' || holds === 'CAPTURED' ? { endHolds: holds } : {}
}
