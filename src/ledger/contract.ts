import * as z from 'zod'
import { codeOf, operatorOrderFields, reason, workspaceFilters } from '../contract/fields.ts'
import type { LedgerTypes } from '../contract/ledger/ledger-types.ts'
import { listQuery, page } from '../contract/lists.ts'

import { decision, member, money, operator } from '../contract/policies.ts'
import { type CodeOf, type ConfirmedTexts, codedFamily, type Permission, type Purpose } from '../kernel/index.ts'

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

/** The status of a wallet. */
export const walletStatus = codedFamily('walletStatus', { ACTIVE: 10090101, FROZEN: 10090102, CLOSED: 10090103 })
export type WalletStatus = CodeOf<typeof walletStatus>

/** The ledger's own types of journal entries. Domains add theirs in `ledgerTypes`. */
export const flowType = codedFamily('flowType', { FEE: 10090305, OPENING: 10090306 })

export const ledgerTypes = {
  flowTypes: flowType.values,
  houseAccounts: ['LIQUIDITY', 'FEE', 'CLEARING'],
} as const satisfies LedgerTypes

declare global {
  /** The ledger types of domains outside this package, by domain: `declare global { interface PorticoLedger { ... } }`. */
  interface PorticoLedger {}
}

/** An owner merges its `ledgerTypes` and order types into this interface, so that an undeclared type does not compile. */
export interface LedgerTypesByOwner extends PorticoLedger {
  ledger: typeof ledgerTypes
}

type TypesOfOwner = LedgerTypesByOwner[keyof LedgerTypesByOwner]
type KeysOf<T> = T extends unknown ? keyof T & string : never
type ItemsOf<T> = T extends readonly (infer Item extends string)[] ? Item : never
type Declared<Key extends keyof LedgerTypes> = TypesOfOwner extends infer Types
  ? Types extends Readonly<Record<Key, infer Value>>
    ? Value
    : never
  : never

export type OrderType = KeysOf<Declared<'orders'>> | Extract<TypesOfOwner, { name: string; prefix: string }>['name']
export type FlowType = KeysOf<Declared<'flowTypes'>>
/** There is one of each kind per currency. */
export type HouseAccount = ItemsOf<Declared<'houseAccounts'>>

/** The filters of lists and exports of an order type. */
export type OrderFilters<Name extends OrderType> =
  Declared<'orders'> extends infer Orders
    ? Orders extends Readonly<Record<Name, { readonly filters: infer Filters extends z.ZodRawShape }>>
      ? Filters
      : never
    : never

/** A flow type in a request. `Ledger.parseFlowType` accepts the declared ones only; the catalogue lists them in OpenAPI. */
export const flowTypeCode = z
  .string()
  .max(32)
  .regex(/^[A-Z][A-Z0-9_]*$/)
  .brand<FlowType, 'in'>()
  .meta({ title: 'flowType.code' })

/** Whether an entry credits or debits the wallet. */
export const flowDirection = codedFamily('flowDirection', { IN: 10090401, OUT: 10090402 })
export type FlowDirection = CodeOf<typeof flowDirection>

/** Filters of lists and exports of flows. */
export const flowFilters = { flowType: flowTypeCode.optional(), direction: codeOf(flowDirection).optional() }

/** The sortable fields of lists of orders. */
export const orderSort = ['createdAt', 'updatedAt'] as const

/** Returns the parts of an operator's decision on an order. The four-eyes rule applies. */
export function orderDecision<O extends z.ZodObject, P extends Permission>(order: O, permission: P) {
  return {
    method: 'POST',
    chains: ['system'],
    policy: { ...decision, permission },
    purpose: ofOrder,
    body: 'none',
    reply: order,
    refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
  } as const
}

/** Returns the parts of `orderDecision`, with a request body that requires a reason. */
export function reasonedOrderDecision<O extends z.ZodObject, P extends Permission>(order: O, permission: P) {
  return { ...orderDecision(order, permission), body: z.strictObject({ reason }) } as const
}

/**
 * The operations that all order types have in common. A domain spreads an operation into its contract, and adds the id,
 * path and summary. `group` is its permission group.
 */
export function orderOperations<S extends z.ZodRawShape, F extends z.ZodRawShape, G extends string>(
  order: z.ZodObject<S>,
  filters: F,
  group: G,
) {
  const memberRead = { ...member, workspace: 'required', permission: `${group}:read` } as const
  const memberWrite = { ...money, workspace: 'required', permission: `${group}:create` } as const
  const operatorRead = { ...operator, permission: `${group}:read` } as const
  const operatorOrder = order.extend(operatorOrderFields)
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
    /** The domain adds the request body and the refusal codes. */
    create,
    change: { ...create, refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'] },
    listAll: {
      ...list,
      chains: ['system'],
      policy: operatorRead,
      query: listQuery(orderSort, { ...filters, ...workspaceFilters }),
      reply: page(operatorOrder),
    },
    readAny: { ...read, chains: ['system'], policy: operatorRead, reply: operatorOrder },
    approve: orderDecision(order, `${group}:approve`),
    reject: reasonedOrderDecision(order, `${group}:approve`),
  } as const
}

/** The path has the order's id. An operation that confirms more than this declares its own purpose. */
function ofOrder(confirmed: ConfirmedTexts): Purpose {
  const [order, ...others] = Object.values(confirmed)
  return others.length === 0 ? { order } : {}
}
