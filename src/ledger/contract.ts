import * as z from 'zod'
import { reason, workspaceFields, workspaceFilters } from '../contract/fields.ts'
import { listQuery, page } from '../contract/lists.ts'
import { decision, operator } from '../contract/policies.ts'
import { type CodeOf, codedFamily, type Permission } from '../kernel/index.ts'

export const codes = {
  'WALLET.INSUFFICIENT_FUNDS': { status: 422 },
  'WALLET.NOT_ACTIVE': { status: 422 },
  'WALLET.LIMIT_EXCEEDED': { status: 422 },
  'CHANNEL.NOT_AVAILABLE': { status: 422 },
} as const

declare module '../kernel/codes.ts' {
  interface CodesByOwner {
    ledger: typeof codes
  }
}

export const walletStatus = codedFamily('walletStatus', { ACTIVE: 10090101, FROZEN: 10090102, CLOSED: 10090103 })
export type WalletStatus = CodeOf<typeof walletStatus>

export const flowType = codedFamily('flowType', {
  TRANSFER: 10090301,
  EXCHANGE: 10090302,
  RECHARGE: 10090303,
  WITHDRAWAL: 10090304,
  FEE: 10090305,
  OPENING: 10090306,
})
export type FlowType = CodeOf<typeof flowType>

export const flowDirection = codedFamily('flowDirection', { IN: 10090401, OUT: 10090402 })
export type FlowDirection = CodeOf<typeof flowDirection>

/*
 * The operations that all kinds of orders have: lists, reads and decisions. A domain spreads one of these and adds id, path,
 * summary and whatever differs.
 */

/** What orders can be sorted by. */
export const orderSort = ['createdAt', 'updatedAt'] as const

/** A member's list of orders. The domain adds chains and policy. */
export const orderList = <O extends z.ZodObject, F extends z.ZodRawShape>(order: O, filters: F) =>
  ({ method: 'GET', query: listQuery(orderSort, filters), body: 'none', reply: page(order), refuses: [] }) as const

/** A member's read of one order. The domain adds chains and policy. */
export const orderRead = <O extends z.ZodObject>(order: O) =>
  ({ method: 'GET', body: 'none', reply: order, refuses: ['RESOURCE.NOT_FOUND'] }) as const

/** An operator's list of orders of every workspace, LIVE and SANDBOX. */
export const operatorOrderList = <O extends z.ZodObject, F extends z.ZodRawShape, P extends Permission>(
  order: O,
  filters: F,
  permission: P,
) =>
  ({
    method: 'GET',
    chains: ['system'],
    policy: { ...operator, permission },
    query: listQuery(orderSort, { ...filters, ...workspaceFilters }),
    body: 'none',
    reply: page(order.extend(workspaceFields)),
    refuses: [],
  }) as const

/** An operator's read of one order of any workspace. */
export const operatorOrderRead = <O extends z.ZodObject, P extends Permission>(order: O, permission: P) =>
  ({ ...orderRead(order.extend(workspaceFields)), chains: ['system'], policy: { ...operator, permission } }) as const

/** An operator's decision on an order, with the four-eyes rule. */
export const orderDecision = <O extends z.ZodObject, P extends Permission>(order: O, permission: P) =>
  ({
    method: 'POST',
    chains: ['system'],
    policy: { ...decision, permission },
    body: 'none',
    reply: order,
    refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
  }) as const

/** An operator's decision that gives a reason. */
export const reasonedOrderDecision = <O extends z.ZodObject, P extends Permission>(order: O, permission: P) =>
  ({ ...orderDecision(order, permission), body: z.strictObject({ reason }) }) as const
