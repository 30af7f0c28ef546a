import { type ReportError, throwError } from '../../kernel/index.ts'
import { joinDeclarations } from '../permissions.ts'
import { isLifeCycle, type OrderTypeDeclaration } from './life-cycle.ts'

/** The types that an owner adds to the ledger. */
export interface LedgerTypes {
  /** By name. An owner can export an `orderType` of its contract instead. */
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
  const flowTypes = declared.flatMap(({ owner, flowTypes: own = {} }) =>
    Object.entries(own).map(([name, value]) => [owner, name, { owner, value }, `ledger.flowTypes.${name}`] as const),
  )
  const houseAccounts = declared.flatMap(({ owner, houseAccounts: own = [] }) =>
    own.map((name) => [owner, name, { owner }, 'ledger.houseAccounts'] as const),
  )
  for (const [owner, name, type] of orders)
    if (isLifeCycle(type) && type.name !== name)
      report({ owner, message: `ledger.orders.${name}: is the order type ${type.name}` })
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
  }
}

function typesOf(contract: object): LedgerTypes {
  const types: LedgerTypes = 'ledgerTypes' in contract ? (contract.ledgerTypes as LedgerTypes) : {}
  const exported = Object.values(contract).filter(isLifeCycle)
  return { ...types, orders: { ...types.orders, ...Object.fromEntries(exported.map((type) => [type.name, type])) } }
}
