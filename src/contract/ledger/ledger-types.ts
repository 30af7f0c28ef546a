import { type ReportError, throwError } from '../../kernel/index.ts'
import { joinDeclarations } from '../permissions.ts'
import { isLifeCycle, type LifeCycle } from './life-cycle.ts'

/** The statuses of an order type, and the prefix of its order numbers. */
export interface OrderTypeDeclaration {
  /** Three capital letters, such as `TRF` in `TRF-20260801-0000000000AB`. */
  readonly prefix: string
  /** Statuses that an order can leave. */
  readonly open: readonly string[]
  /** Statuses that an order never leaves. With open statuses, they include CANCELLED, for the reset of a sandbox. */
  readonly final: readonly string[]
  /** Whether the orders move value out of a workspace. They then count towards `money.stepUpAbove`. */
  readonly outgoing?: boolean
}

/** The types that an owner adds to the ledger. */
export interface LedgerTypes {
  readonly orders?: Readonly<Record<string, OrderTypeDeclaration>>
  /**
   * Numbers of journal entry types, as codes of the family `flowType`. Their texts are in the owner's locales under
   * `coded.flowType.<code>`.
   */
  readonly flowTypes?: Readonly<Record<string, number>>
  /** House accounts. Each has one balance per currency, which is never negative. */
  readonly houseAccounts?: readonly string[]
}

export interface LedgerTypeTable {
  readonly orders: ReadonlyMap<string, OrderTypeDeclaration & { readonly owner: string }>
  readonly flowTypes: ReadonlyMap<string, { readonly owner: string; readonly value: number }>
  readonly houseAccounts: ReadonlyMap<string, { readonly owner: string }>
  /** By order type. A type that is declared without `orderType` has none. */
  readonly lifeCycles: ReadonlyMap<string, LifeCycle>
}

/**
 * Throws a TypeError for duplicates, unless `report` collects the errors.
 */
export function collectLedgerTypes(
  contracts: Readonly<Record<string, object>>,
  report: ReportError = throwError,
): LedgerTypeTable {
  const declared = Object.entries(contracts).map(([owner, contract]) => ({ owner, ...typesOf(contract) }))
  const orders = declared.flatMap(({ owner, orders: own = {} }) =>
    Object.entries(own).map(([name, type]) => [owner, name, { owner, ...type }, `ledger.orders.${name}`] as const),
  )
  const lifeCycles = Object.values(contracts)
    .flatMap((contract) => [...Object.values(contract), ...Object.values(typesOf(contract).orders ?? {})])
    .filter(isLifeCycle)
  const flowTypes = declared.flatMap(({ owner, flowTypes: own = {} }) =>
    Object.entries(own).map(([name, value]) => [owner, name, { owner, value }, `ledger.flowTypes.${name}`] as const),
  )
  const houseAccounts = declared.flatMap(({ owner, houseAccounts: own = [] }) =>
    own.map((name) => [owner, name, { owner }, 'ledger.houseAccounts'] as const),
  )
  joinDeclarations(
    'prefix of order numbers',
    orders.map(([owner, , { prefix }, field]) => [owner, prefix, null, `${field}.prefix`] as const),
    report,
  )
  joinDeclarations(
    'number of flow types',
    flowTypes.map(([owner, , { value }, field]) => [owner, String(value), null, field] as const),
    report,
  )
  return {
    orders: joinDeclarations('order type', orders, report),
    flowTypes: joinDeclarations('flow type', flowTypes, report),
    houseAccounts: joinDeclarations('house account', houseAccounts, report),
    lifeCycles: new Map(lifeCycles.map((type) => [type.name, type])),
  }
}

function typesOf(contract: object): LedgerTypes {
  return 'ledgerTypes' in contract ? (contract.ledgerTypes as LedgerTypes) : {}
}
