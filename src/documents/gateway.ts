import { isDeepStrictEqual } from 'node:util'
import { type LoadedDomain, toContract } from '../api/domain.ts'
import { codesOf, rateGroupsOf } from '../contract/catalogue.ts'
import { gatewayContracts } from '../contract/index.ts'
import { collectPermissions, marksOf, type PermissionRow } from '../contract/permissions.ts'
import { type Operation, operationsIn, pipelineCodes, type RateRules } from '../kernel/index.ts'
import * as ledger from '../ledger/contract.ts'
import { type OperationMarks, operationMarks, type RootMarks } from './marks.ts'

/** A declaration, and whether its domain is off. */
interface Declared<Value> {
  value: Value
  isOff: boolean
}
type Declarations<Value> = ReadonlyMap<string, Declared<Value>>

/** The declarations that a gateway has without its documents. A document can repeat them. */
export interface GatewayDeclarations {
  /** Whether the domain is off, by name. */
  domains: ReadonlyMap<string, boolean>
  operations: Declarations<{ name: string; operation: Operation }>
  codes: Declarations<{ status: number }>
  permissions: Readonly<Record<'workspace' | 'operator', Declarations<PermissionRow>>>
  rateGroups: Declarations<RateRules>
}

interface Owner {
  name: string
  contract: object
  isOff: boolean
}

/** `isOff` returns whether the configuration switches a domain off. Identity and the ledger are always on. */
export function declarationsOf(
  domains: readonly LoadedDomain[] = [],
  isOff: (domain: LoadedDomain) => boolean = () => false,
): GatewayDeclarations {
  const shared = { pipeline: { codes: pipelineCodes }, ledger, ...gatewayContracts }
  const owners: Owner[] = [
    ...Object.entries(shared).map(([name, contract]) => ({ name, contract, isOff: false })),
    ...domains.map((domain, index) => ({
      name: domain.name,
      contract: toContract(domain, index),
      isOff: isOff(domain),
    })),
  ]
  return {
    domains: new Map(owners.map(({ name, isOff: off }) => [name, off])),
    operations: collect(owners, (contract) =>
      operationsIn(contract).map(([name, operation]) => [operation.id, { name, operation }]),
    ),
    codes: collect(owners, (contract) => Object.entries(codesOf(contract))),
    permissions: { workspace: permissionsIn(owners, 'workspace'), operator: permissionsIn(owners, 'operator') },
    rateGroups: collect(owners, (contract) => Object.entries(rateGroupsOf(contract))),
  }
}

/**
 * Returns the fields in which an operation of a document differs from the one of the gateway. Ignores schemas: lists of
 * permissions and coded values grow with the extensions of a gateway. The document of one portal lacks the chains of the
 * other.
 */
export function differingFields(
  documented: Pick<Operation, 'method' | 'path'> & { marks: OperationMarks },
  { name, operation }: { name: string; operation: Operation },
): string[] {
  const { method, path, marks } = documented
  const { id: _, chains: ids, policy, ...own } = operationMarks(operation, name)
  const { chains: documentedIds, policy: documentedPolicy, before, emits: __, ...others } = { ...marks, path }
  // The other gateway has hooks, whose codes are not those of the operation.
  if (before) others.refuses = marks.refuses.filter((code) => own.refuses.some((each) => each === code))
  const isDifferent = (one: object, other: object) => (field: string) =>
    !isDeepStrictEqual(sorted(Reflect.get(one, field)), sorted(Reflect.get(other, field)))
  // A document of an earlier release lacks `confirms`. The gateway uses its own.
  const ignored = marks.confirms ? ['id'] : ['id', 'confirms']
  const fields = Object.keys({ ...own, ...others }).filter((field) => !ignored.includes(field))
  return [
    ...(method === operation.method ? [] : ['method']),
    ...fields.filter(isDifferent(own, others)),
    ...(documentedIds.every((chain) => ids.includes(chain)) ? [] : ['chains']),
    ...Object.keys(policy)
      .filter(isDifferent(policy, documentedPolicy))
      .map((field) => `policy.${field}`),
  ]
}

/**
 * Removes the codes, permissions and rate groups that the gateway has. Those of a domain that is off remain if an
 * operation of the document uses them. Reports declarations that differ from the gateway's.
 */
export function withoutDeclared(
  root: RootMarks,
  operations: readonly OperationMarks[],
  gateway: GatewayDeclarations,
  report: (error: string) => void,
): RootMarks {
  const used = new Set([
    ...operations.flatMap(codesUsedBy),
    ...operations.flatMap(({ policy }) => [policy.permission, policy.rate]),
  ])
  const isNew = <Value>(
    name: string,
    declared: Declared<Value> | undefined,
    difference: (value: Value) => string | false,
  ): boolean => {
    if (!declared) return true
    if (declared.isOff) return used.has(name)
    const found = difference(declared.value)
    if (found !== false) report(found)
    return false
  }
  const permissionsOf = (scope: 'workspace' | 'operator') =>
    selectPermissions(root.permissions[scope], (code, isPeopleOnly) =>
      isNew(
        code,
        gateway.permissions[scope].get(code),
        (own) =>
          own.isPeopleOnly !== isPeopleOnly &&
          `permissions: ${scope}: ${code}: must ${own.isPeopleOnly ? '' : 'not '}be in peopleOnly, as in the gateway`,
      ),
    )
  return {
    ...root,
    permissions: { workspace: permissionsOf('workspace'), operator: permissionsOf('operator') },
    rateGroups: Object.fromEntries(
      Object.entries(root.rateGroups).filter(([name, rules]) =>
        isNew(
          name,
          gateway.rateGroups.get(name),
          (own) => !isDeepStrictEqual({ ...own }, { ...rules }) && `rateGroups: ${name}: differs from the gateway`,
        ),
      ),
    ),
    codes: Object.fromEntries(
      Object.entries(root.codes).filter(([code, { status }]) =>
        isNew(
          code,
          gateway.codes.get(code),
          (own) => own.status !== status && `codes: ${code}: must have the status ${own.status}, as in the gateway`,
        ),
      ),
    ),
  }
}

function collect<Value>(
  owners: readonly Owner[],
  entriesOf: (contract: object) => readonly (readonly [string, Value])[],
): Declarations<Value> {
  return new Map(
    owners.flatMap(({ contract, isOff }) =>
      entriesOf(contract).map(([name, value]) => [name, { value, isOff }] as const),
    ),
  )
}

function permissionsIn(owners: readonly Owner[], scope: 'workspace' | 'operator'): Declarations<PermissionRow> {
  return collect(owners, (contract) =>
    collectPermissions({ contract }, scope, ignore).map((row): [string, PermissionRow] => [row.code, row]),
  )
}

function ignore(): void {}

function sorted(value: unknown): unknown {
  return Array.isArray(value) ? value.toSorted() : value
}

function codesUsedBy({ refuses, malformedParam, malformedBody }: OperationMarks): string[] {
  return [...refuses, malformedParam, malformedBody].filter((code) => code !== undefined)
}

/** Removes the permissions that `isNew` rejects. */
function selectPermissions(
  groups: RootMarks['permissions']['workspace'] = {},
  isNew: (code: string, isPeopleOnly: boolean) => boolean,
): NonNullable<RootMarks['permissions']['workspace']> {
  return Object.fromEntries(
    Object.entries(groups).flatMap(([group, { actions, ...marks }]) => {
      const added = actions.filter((action) => isNew(`${group}:${action}`, marks.peopleOnly?.includes(action) ?? false))
      return added.length === 0
        ? []
        : [[group, { actions: added, ...marksOf(marks, (action) => added.includes(action)) }]]
    }),
  )
}
