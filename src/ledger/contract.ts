import * as z from 'zod'
import { reason, workspaceFields, workspaceFilters } from '../contract/fields.ts'
import { listQuery, page } from '../contract/lists.ts'

import { decision, member, money, operator } from '../contract/policies.ts'
import { type CodeOf, codedFamily, type Permission } from '../kernel/index.ts'

/** Refusal codes of commands that move money. */
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

/** The types of journal entries. */
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

/** The fields that orders can be sorted by. */
export const orderSort = ['createdAt', 'updatedAt'] as const

/** Returns the parts of an operation in which an operator decides on an order. The four-eyes rule applies. */
export const orderDecision = <O extends z.ZodObject, P extends Permission>(order: O, permission: P) =>
  ({
    method: 'POST',
    chains: ['system'],
    policy: { ...decision, permission },
    body: 'none',
    reply: order,
    refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
  }) as const

/** Returns the parts of `orderDecision` for a decision that requires a reason in the request body. */
export const reasonedOrderDecision = <O extends z.ZodObject, P extends Permission>(order: O, permission: P) =>
  ({ ...orderDecision(order, permission), body: z.strictObject({ reason }) }) as const

/**
 * Returns the operations that all order types have in common. A domain spreads an operation into its own contract and
 * adds the id, path, summary and differences. `group` is the permission group of the domain.
 */
export const orderOperations = <O extends z.ZodObject, F extends z.ZodRawShape, G extends string>(
  order: O,
  filters: F,
  group: G,
) => {
  const memberRead = { ...member, workspace: 'required', permission: `${group}:read` } as const
  const memberWrite = { ...money, workspace: 'required', permission: `${group}:create` } as const
  const operatorRead = { ...operator, permission: `${group}:read` } as const
  const operatorOrder = order.extend(workspaceFields)
  const list = {
    method: 'GET',
    chains: ['consumer'],
    policy: memberRead,
    query: listQuery(orderSort, filters),
    body: 'none',
    reply: page(order),
    refuses: [],
  } as const
  const read = {
    method: 'GET',
    chains: ['consumer'],
    policy: memberRead,
    body: 'none',
    reply: order,
    refuses: ['RESOURCE.NOT_FOUND'],
  } as const
  const create = { method: 'POST', chains: ['consumer'], policy: memberWrite, reply: order } as const
  return {
    list,
    read,
    /** Creates an order. The domain adds the request body and the refusal codes. */
    create,
    /** Lets a member change an order. The request has no body. */
    change: { ...create, refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'] },
    /** Lets an operator list orders of all workspaces, LIVE and SANDBOX. */
    listAll: {
      ...list,
      chains: ['system'],
      policy: operatorRead,
      query: listQuery(orderSort, { ...filters, ...workspaceFilters }),
      reply: page(operatorOrder),
    },
    /** Lets an operator read an order of any workspace. */
    readAny: { ...read, chains: ['system'], policy: operatorRead, reply: operatorOrder },
    approve: orderDecision(order, `${group}:approve`),
    reject: reasonedOrderDecision(order, `${group}:approve`),
  } as const
}
